/**
 * Posts in the pages of a social network: where one stands, its own words, and the address that names it.
 *
 * A post is what its address names, never what a class or a test id says. Where its words cannot be told from what
 * stands around them, it is unreadable: a reader gets no verdict on words that the author did not write.
 */
export const FEED_SITES = ['bsky.app', 'threads.com'] as const;
export type FeedSite = (typeof FEED_SITES)[number];

export interface Post {
  readonly element: Element;
  readonly words: string;
  readonly permalink: string;
  readonly site: FeedSite;
}

export type UnreadableReason =
  /** Nothing names this one post, as in views that join several. */
  | 'no_permalink'
  | 'no_words'
  /** The page shows the beginning only. */
  | 'cut'
  | 'translated'
  /** More than one text stands there. */
  | 'ambiguous';

export interface Unreadable {
  readonly element: Element;
  readonly reason: UnreadableReason;
}

export interface Feed {
  readonly site: FeedSite;
  /** As readers know it. */
  readonly name: string;
  /** Host names as match patterns write them. */
  readonly hosts: readonly string[];
  /** The post around a node. */
  at(node: Node): Post | Unreadable | null;
  /** The address of a post, where something names it. */
  permalinkOf(element: Element): string | null;
  /** What may be posts, in the order of the page. */
  elements(doc: Document): readonly Element[];
}

/** Whether a feed is for pages at this address. */
export function matches(feed: Feed, url: URL): boolean {
  return (
    url.protocol === 'https:' &&
    feed.hosts.some((host) =>
      host.startsWith('*.')
        ? url.hostname === host.slice(2) || url.hostname.endsWith(host.slice(1))
        : url.hostname === host,
    )
  );
}

export function isReadable(found: Post | Unreadable): found is Post {
  return 'words' in found;
}

/** The post that has the focus, or else the one in the middle of the window. */
export function inView(feed: Feed, doc: Document): Post | Unreadable | null {
  const focused = doc.activeElement === null ? null : feed.at(doc.activeElement);
  if (focused !== null) return focused;
  const middle = (doc.defaultView?.innerHeight ?? 0) / 2;
  let nearest: Element | null = null;
  let least = Infinity;
  for (const element of feed.elements(doc)) {
    const { top, bottom, height } = element.getBoundingClientRect();
    if (height === 0 || bottom <= 0 || top >= 2 * middle) continue;
    const distance = Math.max(0, top - middle, middle - bottom);
    if (distance < least) [nearest, least] = [element, distance];
  }
  return nearest === null ? null : feed.at(nearest);
}

/** The post with this address, where the page shows it: a site may keep earlier pages with it out of sight. */
export function findPost(feed: Feed, doc: Document, permalink: string): Post | null {
  const element = feed.elements(doc).find((one) => feed.permalinkOf(one) === permalink && isShown(one));
  const found = element === undefined ? null : feed.at(element);
  return found !== null && isReadable(found) ? found : null;
}

export function isShown(element: Element): boolean {
  return element.getBoundingClientRect().height > 0;
}

/** The outermost element that matches a selector, around a node or the node itself. */
export function outermost(node: Node, selector: string): Element | null {
  let found: Element | null = null;
  let at = node instanceof Element ? node : node.parentElement;
  while (at !== null && (at = at.closest(selector)) !== null) {
    found = at;
    at = at.parentElement;
  }
  return found;
}

export function isBefore(one: Node, other: Node): boolean {
  return (one.compareDocumentPosition(other) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0;
}

/** The site's own address of a link, null where it leads elsewhere. */
export function pathOf(link: Element): string | null {
  const href = link.getAttribute('href') ?? '';
  const base = link.ownerDocument.location.href;
  if (!URL.canParse(href, base)) return null;
  const url = new URL(href, base);
  return url.origin === new URL(base).origin ? url.pathname : null;
}

/** Whether the page shows only the first lines of an element. */
export function isCut(element: Element): boolean {
  const clamp = styleOf(element)?.getPropertyValue('-webkit-line-clamp') ?? '';
  return clamp !== '' && clamp !== 'none';
}

/** Whether the browser has put its own translation in place of the words. */
export function isTranslatedByBrowser(element: Element): boolean {
  return element.querySelector(':is(font)') !== null || element.closest('.translated-ltr, .translated-rtl') !== null;
}

const BLOCKS = new Set(['DIV', 'P', 'LI', 'UL', 'OL', 'BLOCKQUOTE']);

/** The words of an element with its line breaks; `skip` leaves elements out. */
export function readWords(element: Element, skip: (element: Element) => boolean = () => false): string {
  let words = '';
  const read = (node: Node): void => {
    if (node.nodeType === Node.TEXT_NODE) words += linesOf(node);
    if (!(node instanceof Element) || (node !== element && skip(node))) return;
    if (node.localName === 'br') words += '\n';
    const isBlock = BLOCKS.has(node.tagName) && node !== element && !isInline(node);
    if (isBlock && words !== '' && !words.endsWith('\n')) words += '\n';
    for (const child of node.childNodes) read(child);
    if (isBlock && !words.endsWith('\n')) words += '\n';
  };
  read(element);
  return words
    .replace(/[^\S\n]+/g, ' ')
    .replace(/ ?\n ?/g, '\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
}

/** The text of a node; its line breaks count only where the page's style shows them. */
function linesOf(text: Node): string {
  const words = text.nodeValue ?? '';
  if (!words.includes('\n') || text.parentElement === null) return words;
  return styleOf(text.parentElement)?.whiteSpace.startsWith('pre') === true ? words : words.replaceAll('\n', ' ');
}

function isInline(element: Element): boolean {
  return styleOf(element)?.display.startsWith('inline') === true;
}

function styleOf(element: Element): CSSStyleDeclaration | undefined {
  return element.ownerDocument.defaultView?.getComputedStyle(element);
}
