/**
 * Where our decisions are stricter than what was recorded, as rules and never as names of cases.
 *
 * Each rule is decided from the recorded case and the page alone, without our matcher, so it cannot excuse a fault of
 * it. A difference that no rule explains is a failure.
 */

import { normalize } from '../src/platforms/text';

export interface RecordedClaim {
  id: string;
  matched: boolean;
  start?: number;
  end?: number;
  range_text?: string;
}

export interface RecordedPage {
  /** What the recorded side searched. */
  raw: string;
  /** The text with its blocks kept apart: what was checked, and what quotes are taken from. */
  checked: string;
  /** Whether `raw` holds words of scripts or styles. */
  holdsScripts: boolean;
}

export interface Place {
  start: number;
  end: number;
  range: string;
}

export interface Quote {
  text: string;
  context: string;
}

export const RULES = {
  never_text: 'words of script, style and noscript are content on no site',
  other_words: 'the recorded place does not read as the quote: only identical words are underlined',
  other_sentence: 'the context of the quote is not on the page: the sentence around it was changed',
  ambiguous: 'the quote stands in several places and its context names none: never the first of them',
  cut_word: 'the recorded place begins or ends inside a word',
  across_blocks: 'the quote joins the words of two blocks, which nobody reads as one',
  block_edge: 'the quote runs over the edge of a block, which parts words as a space does',
  typography: 'the quote differs from its only place in typography alone',
  bare_edge: 'the place is the recorded one but for marks without width at its edges',
} as const;

export type Rule = keyof typeof RULES;

/** Why a recorded underline must not be shown; null if it must. */
export function refusal(page: RecordedPage, recorded: RecordedClaim, quote: Quote): Rule | null {
  const text = normalize(quote.text);
  const context = normalize(quote.context);
  const { start = 0, end = 0, range_text: range = '' } = recorded;
  if (page.holdsScripts && isSevered(page, text)) return 'never_text';
  if (normalize(range) !== text) return 'other_words';
  if (!page.checked.includes(text)) return 'across_blocks';
  if (isInsideWord(page.raw, start) || isInsideWord(page.raw, end)) return 'cut_word';
  if (count(page.checked, text) > 1 && !namesOne(page.checked, text, context)) return 'ambiguous';
  return context.includes(text) && !page.checked.includes(context) ? 'other_sentence' : null;
}

/** Why we may show an underline where none was recorded; null if we may not. */
export function permission(page: RecordedPage, range: string, quote: Quote): Rule | null {
  const text = normalize(quote.text);
  // Had the quote stood there as it is, once or often, the recorded side would have known better than we.
  if (normalize(page.raw).includes(text)) return null;
  if (count(page.checked, text) === 1) return 'block_edge';
  return isSame(range, quote.text) && count(letters(page.checked), letters(text)) === 1 ? 'typography' : null;
}

/** Why our place may be another than the recorded one; null if it may not. */
export function correction(page: RecordedPage, recorded: RecordedClaim, own: Place, quote: Quote): Rule | null {
  const text = normalize(quote.text);
  const { start, end, range } = own;
  const overlaps = start < (recorded.end ?? 0) && (recorded.start ?? 0) < end;
  if (!overlaps || !isSame(range, quote.text)) return null;
  if (normalize(recorded.range_text ?? '') !== text) return 'other_words';
  const isOnlyPlace = count(page.checked, text) === 1;
  return isOnlyPlace && normalize(range) === text ? 'bare_edge' : null;
}

/** Whether two texts are the same letters and digits in the same order. */
function isSame(one: string, other: string): boolean {
  return letters(one) !== '' && letters(one) === letters(other);
}

function letters(text: string): string {
  return text.normalize('NFKC').replace(/\[[\p{L}\p{N}]{1,3}\]|[^\p{L}\p{N}]/gu, '');
}

function isSevered(page: RecordedPage, text: string): boolean {
  return normalize(page.raw).includes(text) && !page.checked.includes(text);
}

/** Whether both sides of a place are letters or digits of one word; marks without width do not part words. */
function isInsideWord(raw: string, at: number): boolean {
  const before = raw.slice(0, at).replace(/[\u200b-\u200d\ufeff\u00ad]+$/u, '');
  const after = raw.slice(at).replace(/^[\u200b-\u200d\ufeff\u00ad]+/u, '');
  return /[\p{L}\p{N}]$/u.test(before) && /^[\p{L}\p{N}]/u.test(after);
}

/** Whether the context stands in one place and holds the quote once. */
function namesOne(text: string, quote: string, context: string): boolean {
  return context !== '' && count(text, context) === 1 && count(context, quote) === 1;
}

function count(text: string, part: string): number {
  let found = 0;
  for (let at = text.indexOf(part); at !== -1; at = text.indexOf(part, at + 1)) found += 1;
  return part === '' ? 0 : found;
}
