/**
 * Bluesky: the one post in the address, out of the thread that the page shows around it.
 *
 * Only that post has links to its own lists of likes, reposts and quotes, so these name it; a test id names its author at
 * most. Reader view joins further posts to its text without any mark of their own, so such a page is not read at all.
 */
import { IN_PAGE, IN_WORKER, onlyInPage, onlyInWorker } from '../builds';
import { exactly, instant, nonEmpty, optional } from '../protocol/read';
import { addSite, noHtml, notReady, type NotReady, type Reading } from './base';
import { createOccurrence, imageCaption, imageSource, mediaState, uniqueUrls } from './content';
import type { Steps } from './steps';
import { meta } from './structured';
import { normalize } from './text';
import { isVisible } from './visible';

const PATH = /^\/profile\/([^/]+)\/post\/([^/]+)\/?$/;
const LISTS = /^(\/profile\/[^/]+\/post\/[^/]+)\/(?:liked-by|reposted-by|quotes)\/?$/;
const ITEM_NAME = 'postThreadItem-by-';
const ITEM = `[data-testid^="${ITEM_NAME}"]`;
const SCREEN = '[data-testid="postThreadScreen"]';
/** The site's mark of a post's or a profile's own words; a page's other texts have none. */
const WORDS = '[data-word-wrap]';
const AVATAR = /\/img\/avatar[a-z_]*\/plain\/(did:[^/]+)\//;
const PICTURES = 'img[src*="/img/feed_"]';
const DID = /^did:[a-z]+:[A-Za-z0-9._:%-]+$/;
/** What the site's server writes into a page's head, in English for all readers. */
const MEMBERS_ONLY = 'This author has chosen to make their posts visible only to people who are signed in.';

interface Address {
  /** A handle in lower case, or a DID. */
  actor: string;
  key: string;
}

const metadata = exactly({
  authorDid: nonEmpty,
  authorHandle: optional(nonEmpty),
  authorName: optional(nonEmpty),
  publishedAt: optional(instant),
});

addSite({
  platform: 'BLUESKY',
  displayName: 'Bluesky',
  publishes: 'posts',
  domains: ['bsky.app'],
  matches: [],
  metadata: IN_WORKER ? metadata : onlyInWorker,
  matchesUrl: (url) => addressOf(url) !== null,
  isGated: IN_PAGE ? isForMembers : onlyInPage,
  guess(url) {
    const address = addressOf(url);
    return address && `${address.actor}/${address.key}`;
  },
  read: IN_PAGE ? read : onlyInPage,
});

function addressOf(url: URL | null): Address | null {
  const path = url?.hostname === 'bsky.app' ? PATH.exec(url.pathname) : null;
  if (!path?.[1] || !path[2]) return null;
  const actor = decode(path[1]);
  return actor === '' ? null : { actor: actor.startsWith('did:') ? actor : actor.toLowerCase(), key: path[2] };
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return '';
  }
}

function isForMembers(doc: Document, url: URL): boolean {
  return isHeadOf(doc, url) && meta(doc, 'description') === MEMBERS_ONLY;
}

function* read(doc: Document, url: URL): Steps<Reading> {
  const address = addressOf(url);
  if (address === null) return notReady('missing_identity');
  const item = itemOf(doc, url, address);
  if (!(item instanceof Element)) return item;
  const did = authorOf(doc, url, item, address);
  if (did === null) return notReady('missing_identity');
  const [root, ...others] = [...item.querySelectorAll(WORDS)].filter((words) => !isQuoted(words, item));
  if (root === undefined) return notReady('unsupported');
  if (others.length > 0 || isCut(root) || isJoined(item, doc)) return notReady('ambiguous_dom');

  // Emoji are characters here and so are line breaks: the text is what `textContent` says, without separators.
  const text = normalize(root.textContent);
  const imageOccurrences = [...item.querySelectorAll(PICTURES)]
    .filter((image) => !isQuoted(image, item))
    .map((image) => ({ image, source: imageSource(image, url.origin) }))
    .filter((one): one is { image: Element; source: string } => one.source !== null)
    .map(({ image, source }, index) =>
      createOccurrence(
        index,
        text.length,
        source,
        imageCaption(image, item, () => false),
      ),
    );
  const imageUrls = uniqueUrls(imageOccurrences);
  const handle = item.getAttribute('data-testid')?.slice(ITEM_NAME.length) ?? '';
  const hasVideo = [...item.querySelectorAll('video')].some((video) => !isQuoted(video, item));
  return {
    kind: 'ready',
    root,
    excluded: () => false,
    isNamed: true,
    html: noHtml,
    content: {
      platform: 'BLUESKY',
      externalId: `${did}/${address.key}`,
      url: url.href,
      contentText: text,
      mediaState: mediaState(hasVideo, imageUrls),
      imageUrls,
      imageOccurrences,
      metadata: { authorDid: did, ...(handle !== '' && { authorHandle: handle }) },
    },
  };
}

/** The element of the post, or why there is none to be sure of. Screens left behind stay in the page, hidden. */
function itemOf(doc: Document, url: URL, address: Address): Element | NotReady {
  const shown = [...doc.querySelectorAll(ITEM)].filter(isVisible);
  const named = shown.filter((item) =>
    [...item.querySelectorAll('a[href]')].some((link) => isListOf(link, url, address)),
  );
  if (named.length > 1) return notReady('ambiguous_dom');
  if (named[0] !== undefined) return named[0];
  if (shown.length > 1 || !isHeadOf(doc, url)) return notReady('missing_identity');
  return shown[0] ?? notReady('hydrating');
}

function isListOf(link: Element, url: URL, { actor, key }: Address): boolean {
  const target = URL.parse(link.getAttribute('href') ?? '', url);
  const post = target && LISTS.exec(target.pathname)?.[1];
  const listed = post == null ? null : addressOf(URL.parse(post, url));
  return listed?.key === key && (listed.actor === actor || listed.actor.startsWith('did:') || actor.startsWith('did:'));
}

/** Whether the head speaks of this address; it stays as it was when the reader goes on within the site. */
function isHeadOf(doc: Document, url: URL): boolean {
  const address = addressOf(url);
  const stated = addressOf(URL.parse(meta(doc, 'og:url') ?? '', url));
  return address !== null && stated?.actor === address.actor && stated.key === address.key;
}

/** The author's DID: in the address, in the picture that links to the author, or in the record that the head names. */
function authorOf(doc: Document, url: URL, item: Element, { actor, key }: Address): string | null {
  const pictures = [...item.querySelectorAll('a[href] img[src]')].filter((image) => {
    const target = URL.parse(image.closest('a')?.getAttribute('href') ?? '', url);
    return target !== null && decode(target.pathname).toLowerCase() === `/profile/${actor}`;
  });
  const record = doc.querySelector('link[rel="alternate"][href^="at://"]')?.getAttribute('href')?.slice(5).split('/');
  const stated = [
    actor,
    ...pictures.map((image) => decode(AVATAR.exec(image.getAttribute('src') ?? '')?.[1] ?? '')),
    isHeadOf(doc, url) && record?.[2] === key ? record[0] : undefined,
  ];
  return stated.find((did) => did !== undefined && DID.test(did)) ?? null;
}

/** A quoted post or a card is a link as a whole; its words and pictures are another's. */
function isQuoted(inside: Element, item: Element): boolean {
  const link = inside.closest('a, [role="link"]');
  return link !== null && link !== item && item.contains(link);
}

/** Whether only the first lines of the words are shown. */
function isCut(root: Element): boolean {
  return getComputedStyle(root).webkitLineClamp !== 'none';
}

/** Whether the screen shows words of a post that has no element of its own, as reader view does. */
function isJoined(item: Element, doc: Document): boolean {
  const screen = item.closest(SCREEN) ?? doc;
  return [...screen.querySelectorAll(WORDS)].some((words) => words.closest(ITEM) === null && isVisible(words));
}
