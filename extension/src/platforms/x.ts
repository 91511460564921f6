/**
 * X: the one post in the address, out of the many a page shows.
 *
 * The page recycles its elements while it scrolls, and shows answers and quoted posts around the post. Words of another
 * author must never be taken for the post's, so whatever is in doubt is not ready.
 */
import { IN_PAGE, IN_WORKER, onlyInPage, onlyInWorker } from '../builds';
import { contentText, count, exactly, instant, nonEmpty, nullable, optional, webUrls } from '../protocol/read';
import { addSite, noHtml, notReady, type NotReady, type Reading } from './base';
import { imageCaption, imageSource, mediaState, createOccurrence, uniqueUrls } from './content';
import type { Steps } from './steps';
import { isoDate, meta } from './structured';
import { normalize, textIn } from './text';

const HOST = /^(?:[a-z0-9-]+\.)*(?:x|twitter)\.com$/;
const PATH = /^\/(?:i\/web|([A-Za-z0-9_]+))\/status\/([0-9]+)(?:\/|$)/;
const HANDLE = /^\/([A-Za-z0-9_]+)\/?$/;
const NO_HANDLES = new Set(
  'compose explore home i intent login messages notifications search settings signup'.split(' '),
);
const PROTECTED = [
  'posts are protected',
  'only confirmed followers have access',
  'unable to view this post',
  'account owner limits who can view',
  "this account's posts are protected",
];
const PICTURES = '[data-testid="tweetPhoto"] img, [data-testid="card.wrapper"] img, img[src*="twimg.com/media"]';
const VIDEOS = '[data-testid="videoPlayer"], [data-testid="card.wrapper"] video';
const COLUMN = '[data-testid="primaryColumn"]';

interface Status {
  id: string;
  /** Null where the address names no author. */
  handle: string | null;
}

const metadata = exactly({
  authorHandle: nonEmpty,
  authorDisplayName: optional(nullable(nonEmpty)),
  text: contentText,
  mediaUrls: webUrls,
  likeCount: optional(count),
  retweetCount: optional(count),
  postedAt: optional(instant),
});

addSite({
  platform: 'X',
  displayName: 'X',
  publishes: 'posts',
  domains: ['x.com', 'twitter.com'],
  matches: ['https://x.com/*', 'https://twitter.com/*'],
  unsourced: true,
  metadata: IN_WORKER ? metadata : onlyInWorker,
  matchesUrl: (url) => status(url) !== null,
  isGated: IN_PAGE ? isProtected : onlyInPage,
  guess: (url) => status(url)?.id ?? null,
  read: IN_PAGE ? read : onlyInPage,
});

function isProtected(doc: Document, url: URL): boolean {
  const post = status(url);
  if (post === null || postElement(doc, url, post.id) instanceof Element) return false;
  const shown = normalize(doc.querySelector(COLUMN)?.textContent ?? '').toLowerCase();
  return PROTECTED.some((phrase) => shown.includes(phrase));
}

function status(url: URL | null): Status | null {
  const path = url !== null && HOST.test(url.hostname) ? PATH.exec(url.pathname) : null;
  if (!path?.[2]) return null;
  return { id: path[2], handle: handle(path[1]) };
}

function handle(name: string | undefined): string | null {
  return name === undefined || NO_HANDLES.has(name.toLowerCase()) ? null : name;
}

function* read(doc: Document, url: URL): Steps<Reading> {
  const post = status(url);
  if (post === null) return notReady('missing_identity');
  const article = postElement(doc, url, post.id);
  if (!(article instanceof Element)) return article;
  const root = [...article.querySelectorAll('[data-testid="tweetText"]')].find((one) => !isQuoted(one, article));
  if (root === undefined) return notReady('unsupported');
  const names = article.querySelector('[data-testid="User-Name"]');
  const authorHandle = post.handle ?? inferredHandle(article, names, url, post.id);
  if (authorHandle === null) return notReady('missing_identity');

  // Emoji are pictures here and line breaks are characters: the text is what `textContent` says, without separators.
  const text = normalize(root.textContent);
  const imageOccurrences = [...article.querySelectorAll(PICTURES)]
    .map((image) => ({ image, source: imageSource(image, url.origin) }))
    .filter((one): one is { image: Element; source: string } => one.source !== null)
    .map(({ image, source }, index) =>
      createOccurrence(
        index,
        text.length,
        source,
        imageCaption(image, article, () => false),
      ),
    );
  const imageUrls = uniqueUrls(imageOccurrences);
  const postedAt = isoDate(article.querySelector('time[datetime]')?.getAttribute('datetime'));
  return {
    kind: 'ready',
    root,
    excluded: () => false,
    isNamed: true,
    html: noHtml,
    content: {
      platform: 'X',
      externalId: post.id,
      url: url.href,
      contentText: text,
      mediaState: mediaState(article.querySelector(VIDEOS) !== null, imageUrls),
      imageUrls,
      imageOccurrences,
      metadata: {
        authorHandle,
        authorDisplayName: textIn(names),
        text,
        mediaUrls: imageUrls,
        ...(postedAt === null ? {} : { postedAt }),
      },
    },
  };
}

/** The element of the post, or why there is none to be sure of. */
function postElement(doc: Document, url: URL, id: string): Element | NotReady {
  const linked = [...doc.querySelectorAll('article')].filter((article) => permalinks(article, url, id).length > 0);
  if (linked.length > 1) return notReady('ambiguous_dom');
  if (linked[0] !== undefined) return linked[0];
  const shown = doc.querySelectorAll(`${COLUMN} article`);
  if (shown.length > 1) return notReady('ambiguous_dom');
  const isNamed = pageAddresses(doc, url).some((address) => status(address)?.id === id);
  if (!isNamed) return notReady('missing_identity');
  return shown[0] ?? notReady('hydrating');
}

function permalinks(article: Element, url: URL, id: string): Status[] {
  return [...article.querySelectorAll('a[href]')]
    .map((link) => status(URL.parse(link.getAttribute('href') ?? '', url)))
    .filter((post) => post?.id === id) as Status[];
}

function pageAddresses(doc: Document, url: URL): (URL | null)[] {
  const canonical = doc.querySelector('link[rel="canonical"]')?.getAttribute('href');
  return [canonical, meta(doc, 'og:url')].map((address) => (address ? URL.parse(address, url) : null));
}

/** A quoted post is a link as a whole; its words are another's. */
function isQuoted(text: Element, article: Element): boolean {
  const link = text.closest('[role="link"]');
  return link !== null && link !== article && article.contains(link);
}

function inferredHandle(article: Element, names: Element | null, url: URL, id: string): string | null {
  const linked = permalinks(article, url, id).find((post) => post.handle !== null);
  if (linked?.handle) return linked.handle;
  const profile = [...(names?.querySelectorAll('a[href]') ?? [])]
    .map((link) => URL.parse(link.getAttribute('href') ?? '', url))
    .filter((address) => address !== null && HOST.test(address.hostname))
    .map((address) => handle(HANDLE.exec(address?.pathname ?? '')?.[1]))
    .find((name) => name !== null);
  return profile ?? /@([A-Za-z0-9_]+)/.exec(names?.textContent ?? '')?.[1] ?? null;
}
