/**
 * Whether a Substack post is for some readers only.
 *
 * Leaving a free post unchecked is better than sending a paid one. But a free post that merely asks for subscriptions,
 * or quotes the words of a paywall, is not gated.
 */

import { jsonLd } from './structured';
import { normalize } from './text';
import { isVisible } from './visible';

const PHRASES = [
  'subscribe to continue reading',
  'this post is for paid subscribers',
  'become a paid subscriber',
  'already a paid subscriber',
  'subscriber-only post',
];
const MARKERS = ['paywall', 'subscriber-only', 'subscription-required']
  .flatMap((name) => ['class', 'id', 'data-testid'].map((attribute) => `[${attribute}*="${name}" i]`))
  .join();
const SIGN_IN = 'a[href*="sign-in"], a[href*="/login"], [class*="lock-icon" i], [data-testid*="lock" i]';
const SUBSCRIBE = 'a[href*="/subscribe"], button, [role="button"], input[type="submit"]';
const BLOCKS = 'div, section, aside, p, form, footer, header, h1, h2, h3, h4, li, blockquote';
/** A notice is short; what is longer is an article, or the whole page. */
const LONGEST_NOTICE = 600;

/** `hasText`: the post shows some of its words. */
export function isGated(doc: Document, hasText: boolean): boolean {
  if (jsonLd(doc).some((fields) => isFalse(fields.isAccessibleForFree))) return true;
  if ([...doc.querySelectorAll(MARKERS)].some((element) => saysSo(element) && isVisible(element))) return true;
  const places = !hasText ? [doc.body] : [...doc.querySelectorAll('main, article')];
  return places.filter(saysSo).some((place) => hasNotice(place, hasText));
}

function hasNotice(place: Element, hasText: boolean): boolean {
  return [...place.querySelectorAll(BLOCKS)].some((block) => {
    const text = block.textContent;
    if (text.length > LONGEST_NOTICE || !saysSo(block) || !isVisible(block)) return false;
    const marked = block.querySelector(`${MARKERS}, ${SIGN_IN}`) !== null;
    const offers = [...block.querySelectorAll(SUBSCRIBE)].some(isOffer);
    return hasText ? marked && offers : marked || offers;
  });
}

function isOffer(control: Element): boolean {
  return (control.getAttribute('href') ?? control.textContent).toLowerCase().includes('subscribe');
}

function saysSo(element: Element): boolean {
  const text = normalize(element.textContent).toLowerCase();
  return PHRASES.some((phrase) => text.includes(phrase));
}

function isFalse(value: unknown): boolean {
  return value === false || (typeof value === 'string' && value.toLowerCase() === 'false');
}
