/**
 * Pages of Bluesky for records: what the site's published source makes of one, in the markup that a reader's browser gets.
 *
 * The names of classes are left out, since the site generates them.
 */
export const DID = 'did:plc:ewvi7nxzyoun6zhxrhs64oiz';
export const OTHER_DID = 'did:plc:z72i7hdynmk6r22z27h6tvur';
export const HANDLE = 'ann.example.com';
export const KEY = '3l6oveex3ii2l';
export const POST = `https://bsky.app/profile/${HANDLE}/post/${KEY}`;

interface Facet {
  index: { byteStart: number; byteEnd: number };
  features: { $type: string; uri?: string; did?: string; tag?: string }[];
}

interface Embed {
  $type: string;
  images?: { alt: string }[];
  external?: { uri: string; title: string; description: string };
  media?: Embed;
}

/** A record, and what a page shows beside its own words. */
export interface Shown {
  record: { text: string; facets?: Facet[]; embed?: Embed };
  quoted?: string;
  /** Counts are shown, and link to their lists, from one like on. */
  likes?: number;
  avatar?: boolean;
  after?: string;
}

const escaped: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const escape = (text: string): string => text.replace(/[&<>"]/g, (character) => escaped[character] ?? character);
const text = (html: string, more = ''): string => `<div dir="auto"${more}>${html}</div>`;
const picture = (kind: string, did: string): string => `https://cdn.bsky.app/img/${kind}/plain/${did}/bafkreiabc@jpeg`;

/** The whole page of the post, between the post that it answers and an answer to it that quotes it. */
export function bluesky(shown: Shown, head = '', beside = ''): string {
  const parent = item('parent.example.com', OTHER_DID, words('An earlier post.'), 'the3parent22aa');
  const quoting = item(
    'reply.example.com',
    OTHER_DID,
    words('I disagree.') + quote(HANDLE, KEY, 'Quoted.'),
    'the3reply222aa',
  );
  return (
    `<!doctype html><html><head><meta charset="utf-8">${head}</head><body><div id="root">` +
    `<div style="display:none">${screen(item(HANDLE, DID, words('A screen that was left.'), 'the3other222aa'))}</div>` +
    `${screen(parent + anchor(shown) + beside + quoting)}</div></body></html>`
  );
}

/** What the site's server writes into the head of a post's page. */
export function blueskyHead(uri = `at://${DID}/app.bsky.feed.post/${KEY}`, url = POST): string {
  return `<meta property="og:url" content="${url}"><link rel="alternate" href="${uri}">`;
}

/** A post's own words, as all texts of a post or a profile are marked. */
export function words(html: string, style = ''): string {
  return text(html, ` data-word-wrap="1" style="${style}"`);
}

function screen(items: string): string {
  return `<div data-testid="postThreadScreen"><div>${items}</div></div>`;
}

/** The post of the address: without a link to itself, but with links to who liked it. */
function anchor({ record, quoted, likes = 3, avatar = true, after = '' }: Shown): string {
  const count = `<a href="/profile/${HANDLE}/post/${KEY}/liked-by" role="link">${text(`<span>${likes}</span> likes`)}</a>`;
  return `<div data-testid="postThreadItem-by-${HANDLE}">${author(HANDLE, DID, avatar)}<div>${
    record.text === '' ? '' : words(richText(record))
  }${after}${embed(record.embed, quoted)}</div>${text('12:00 PM · Nov 20, 2026')}${likes > 0 ? count : ''}</div>`;
}

/** A post above or below: its time is the link to it. */
function item(handle: string, did: string, inside: string, key: string): string {
  const time = `<a href="/profile/${handle}/post/${key}" role="link" dir="auto">2h</a>`;
  return `<div><div data-testid="postThreadItem-by-${handle}">${author(handle, did, true)}${time}${inside}</div></div>`;
}

function author(handle: string, did: string, avatar: boolean): string {
  const image = avatar ? `<img src="${picture('avatar', did)}">` : '<svg></svg>';
  const profile = `/profile/${handle}`;
  return `<a href="${profile}" role="link">${image}</a><a href="${profile}" role="link">${text('Ann Lee')}${text(`@${handle}`)}</a>`;
}

function quote(handle: string, key: string, said: string): string {
  const avatar = `<img src="${picture('avatar', OTHER_DID)}">`;
  return `<a href="/profile/${handle}/post/${key}" role="link">${avatar}${text(handle)}${words(escape(said))}</a>`;
}

function embed(shown: Embed | undefined, quoted: string | undefined): string {
  if (shown === undefined) return '';
  const { images = [], external, media } = shown;
  const pictures = images.map(
    ({ alt }) =>
      `<button aria-label="${escape(alt)}"><img src="${picture('feed_thumbnail', DID)}" alt="${escape(alt)}"></button>`,
  );
  const card =
    external &&
    `<a href="${escape(external.uri)}" role="link"><img src="${picture('feed_thumbnail', DID)}">${text(escape(external.title))}${text(escape(external.description))}</a>`;
  return `${embed(media, undefined)}${pictures.join('')}${card ?? ''}${quoted === undefined ? '' : quote('bob.example.com', '3kquoted222aa', quoted)}`;
}

/** Facets become links, cut by bytes; a web address that is the text of a link is shown short. */
function richText({ text: said, facets = [] }: Shown['record']): string {
  const bytes = new TextEncoder().encode(said);
  const cut = (from: number, to: number): string => new TextDecoder().decode(bytes.slice(from, to));
  let html = '';
  let done = 0;
  for (const { index, features } of [...facets].sort((a, b) => a.index.byteStart - b.index.byteStart)) {
    if (index.byteStart < done) continue;
    html += escape(cut(done, index.byteStart));
    html += segment(cut(index.byteStart, index.byteEnd), features);
    done = index.byteEnd;
  }
  return html + escape(cut(done, bytes.length));
}

function segment(said: string, features: Facet['features']): string {
  const of = (kind: string) => features.find(({ $type }) => $type === `app.bsky.richtext.facet#${kind}`);
  const link = (href: string, shown: string) => `<a href="${escape(href)}" role="link" dir="auto">${escape(shown)}</a>`;
  const [mention, web, tag] = [of('mention'), of('link'), of('tag')];
  if (mention) return `<div style="display:inline">${link(`/profile/${mention.did ?? ''}`, said)}</div>`;
  if (web) return link(web.uri ?? '', shortened(said));
  return tag ? `<button style="display:inline">${link(`/hashtag/${tag.tag ?? ''}`, said)}</button>` : escape(said);
}

function shortened(said: string): string {
  const url = URL.parse(said);
  if (url === null || !/^https?:$/.test(url.protocol)) return said;
  const path = (url.pathname === '/' ? '' : url.pathname) + url.search + url.hash;
  return url.host + (path.length > 15 ? `${path.slice(0, 13)}...` : path);
}
