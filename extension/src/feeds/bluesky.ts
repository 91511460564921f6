/**
 * Posts on bsky.app, in feeds, threads and search results.
 *
 * A post in a list carries its address at its time, above its words. The post that a page is about carries none: the
 * page's own address names it. Later posts in the reader view carry neither and are not read.
 */
import { IN_PAGE, onlyInPage } from '../builds';
import {
  isBefore,
  isCut,
  isTranslatedByBrowser,
  outermost,
  pathOf,
  readWords,
  type Feed,
  type Post,
  type Unreadable,
} from './base';

const NAMED = '[data-testid^="feedItem-by-"], [data-testid^="postThreadItem-by-"]';
/** Posts without a test id are links as a whole. */
const PRESSABLE = '[role="link"]';
const TEXT = '[data-testid="postText"], [data-word-wrap]';
const EMBEDDED = 'a[href], [role="link"]';
const POST_PATH = /^\/profile\/([^/]+)\/post\/([^/]+)\/?$/;

export const BLUESKY: Feed = {
  site: 'bsky.app',
  name: 'Bluesky',
  hosts: ['bsky.app'],
  at: IN_PAGE ? at : onlyInPage,
  permalinkOf: IN_PAGE ? permalinkIn : onlyInPage,
  elements: IN_PAGE ? elements : onlyInPage,
};

function at(node: Node): Post | Unreadable | null {
  const element = containerOf(node);
  if (element !== null) return read(element);
  const text = outermost(node, TEXT);
  return text === null ? null : { element: text, reason: 'no_permalink' };
}

function permalinkIn(element: Element): string | null {
  const [text] = textsOf(element);
  return text === undefined ? null : permalinkOf(element, text);
}

function elements(doc: Document): Element[] {
  return [...doc.querySelectorAll(`${NAMED}, ${PRESSABLE}`)].filter((element) => containerOf(element) === element);
}

function containerOf(node: Node): Element | null {
  const named = outermost(node, NAMED);
  if (named !== null) return named;
  const pressable = outermost(node, PRESSABLE);
  return pressable?.querySelector(TEXT) == null || linkOf(pressable) === null ? null : pressable;
}

function read(element: Element): Post | Unreadable {
  const texts = textsOf(element);
  const [text] = texts;
  if (text === undefined) return { element, reason: 'no_words' };
  if (texts.length > 1) return { element, reason: 'ambiguous' };
  const permalink = permalinkOf(element, text);
  if (permalink === null) return { element, reason: 'no_permalink' };
  if (isCut(text)) return { element, reason: 'cut' };
  if (isTranslatedByBrowser(text)) return { element, reason: 'translated' };
  const words = readWords(text, isBadge);
  return words === '' ? { element, reason: 'no_words' } : { element, words, permalink, site: 'bsky.app' };
}

function textsOf(element: Element): Element[] {
  return [...element.querySelectorAll(TEXT)].filter((text) => isOwn(text, element));
}

function permalinkOf(element: Element, text: Element): string | null {
  const link = linkOf(element);
  const path = link !== null && isBefore(link, text) ? pathOf(link) : pagePath(element);
  return path === null ? null : `https://bsky.app${path.replace(/\/$/, '')}`;
}

/** The link of the post itself: the first one to a post. */
function linkOf(element: Element): Element | null {
  return [...element.querySelectorAll('a[href*="/post/"]')].find((link) => POST_PATH.test(pathOf(link) ?? '')) ?? null;
}

/** Not the words of a quoted post or of a card. */
function isOwn(text: Element, element: Element): boolean {
  const around = text.closest(EMBEDDED);
  return around === null || around.contains(element);
}

/** The address of the page, where it names the author of this post. */
function pagePath(element: Element): string | null {
  const author = /^postThreadItem-by-(.+)$/.exec(element.getAttribute('data-testid') ?? '')?.[1];
  const { pathname } = element.ownerDocument.location;
  const named = POST_PATH.exec(pathname)?.[1];
  if (author === undefined || named === undefined) return null;
  return named === author || named.startsWith('did:') ? pathname : null;
}

/** The number of a post within its thread, which the site puts behind the words. */
function isBadge(element: Element): boolean {
  return element.localName === 'div' && element.querySelector('a') === null;
}
