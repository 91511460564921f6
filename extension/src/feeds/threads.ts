/**
 * Posts on Threads. Its class names are generated, so posts are read by roles, links and order alone.
 *
 * A head names the author and, at the time, the post's address; the words follow it, outside of every link and button.
 * Where a translation stands in their place, or several texts stand apart, no rule says which words are the author's.
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

const POST = '[data-pressable-container="true"]';
const TEXT = '[dir="auto"]';
const FOREIGN = 'a[href], button, time, [role="button"], [role="link"]';
/** Beside a translation the site offers the original, in the language of its own buttons. */
const OFFERS_ORIGINAL = /orig|oryg|оригин|原文|원문/iu;
const POST_PATH = /^(\/@[^/]+\/post\/[^/]+)\/?$/;

export const THREADS: Feed = {
  site: 'threads.com',
  name: 'Threads',
  hosts: ['*.threads.com', '*.threads.net'],
  at: IN_PAGE ? at : onlyInPage,
  permalinkOf: IN_PAGE ? (element) => permalinkOf(timeOf(element)) : onlyInPage,
  elements: IN_PAGE ? elements : onlyInPage,
};

function at(node: Node): Post | Unreadable | null {
  const element = outermost(node, POST);
  return element === null ? null : read(element);
}

function elements(doc: Document): Element[] {
  return [...doc.querySelectorAll(POST)].filter((element) => outermost(element, POST) === element);
}

function read(element: Element): Post | Unreadable {
  const time = timeOf(element);
  const permalink = permalinkOf(time);
  if (time === undefined || permalink === null) return { element, reason: 'no_permalink' };
  const head = headOf(time, element);
  const texts = [...element.querySelectorAll(TEXT)].filter((text) => isOwn(text, element, head));
  const [text] = texts;
  if (text === undefined) return { element, reason: 'no_words' };
  if (texts.some((one) => one.parentElement !== text.parentElement)) return { element, reason: 'ambiguous' };
  if (texts.some((one) => isCut(one) || one.querySelector('button, [role="button"]') !== null))
    return { element, reason: 'cut' };
  if (texts.some(isTranslatedByBrowser) || hasOriginal(text)) return { element, reason: 'translated' };
  const words = texts.map((one) => readWords(one)).join('\n');
  return { element, words, permalink, site: 'threads.com' };
}

/** The post's own time, which links to it. */
function timeOf(element: Element): Element | undefined {
  return [...element.querySelectorAll('a[href*="/post/"]')].find(
    (link) => link.querySelector('time[datetime]') !== null && link.closest(POST) === element,
  );
}

function permalinkOf(time: Element | undefined): string | null {
  const path = time === undefined ? undefined : POST_PATH.exec(pathOf(time) ?? '')?.[1];
  return path === undefined ? null : `https://www.threads.com${path}`;
}

/** The line that holds author and time, with the badges between them. */
function headOf(time: Element, element: Element): Element {
  const author = [...element.querySelectorAll('a[href^="/@"]')].findLast(
    (link) => !(link.getAttribute('href') ?? '').includes('/post/') && isBefore(link, time),
  );
  let head = time;
  while (author !== undefined && !head.contains(author) && head.parentElement !== element) head = head.parentElement!;
  return head;
}

function isOwn(text: Element, element: Element, head: Element): boolean {
  if (text.closest(POST) !== element || head.contains(text) || !isBefore(head, text)) return false;
  const around = text.closest(FOREIGN);
  if (around !== null && element.contains(around) && around !== element) return false;
  return text.parentElement?.closest(TEXT)?.closest(POST) !== element && readWords(text) !== '';
}

function hasOriginal(text: Element): boolean {
  const buttons = text.parentElement?.querySelectorAll(':scope > button, :scope > [role="button"]') ?? [];
  return [...buttons].some((button) => OFFERS_ORIGINAL.test(button.textContent));
}
