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

/** What was recorded of a page, as far as it is looked at here. */
interface Recorded {
  adapter?: string | null;
  result?: { kind: string; content?: { metadata: Record<string, unknown> } } | null;
}

export interface Quote {
  text: string;
  context: string;
}

export const RULES = {
  unsaved: 'a page that is being written, compared or listed is no stored revision to be read, and is not sent',
  stale: "the page names the address of another post than that it stands at: its words may be the other one's",
  never_text: 'words of script, style and noscript are content on no site',
  other_words: 'the recorded place does not read as the quote: only identical words are underlined',
  other_sentence: 'the context of the quote is not on the page: the sentence around it was changed',
  ambiguous: 'the quote stands in several places and its context names none: never the first of them',
  cut_word: 'the recorded place begins or ends inside a word',
  joined:
    'a sign (a hyphen, a stop, a symbol) ties the recorded place to what it touches: nobody can tell what is one word',
  cut_context: 'the context begins or ends inside a word of the page, or tied to one by a sign',
  across_blocks: 'the quote joins the words of two blocks, which nobody reads as one',
  block_edge: 'the quote runs over the edge of a block, which parts words as a space does',
  typography: 'the quote differs from its only place in typography alone',
  whole_words: 'the letters stand there in several places, and in one of them as words of their own',
  nearest_context: 'of several places, the context of the quote agrees with one further than with any other',
  bare_edge: 'the place is the recorded one but for marks without width at its edges',
} as const;

export type Rule = keyof typeof RULES;

/** Why a page that was read is not ready for us; null if it must be. */
export function unready(
  { url, html }: { url: string; html: string },
  recorded: Recorded,
  reason: unknown,
): Rule | null {
  if (recorded.result?.kind !== 'ready') return null;
  const address = new URL(url);
  if (recorded.adapter === 'SUBSTACK') {
    const named = [...html.matchAll(/\/p\/([^/"'?#\s<]+)/g)].map(([, slug]) => slug);
    return reason === 'hydrating' && named.some((slug) => !address.pathname.startsWith(`/p/${slug}`)) ? 'stale' : null;
  }
  if (recorded.adapter !== 'WIKIPEDIA') return null;
  const asked = address.searchParams;
  const isElse =
    (asked.get('action') ?? 'view') !== 'view' ||
    asked.has('diff') ||
    asked.has('veaction') ||
    /["']wgAction["']\s*:\s*["'](?!view["'])/.test(html);
  const isStored = Number(recorded.result.content?.metadata.revisionId) !== 0;
  return (reason === 'unsupported' && isElse) || (reason === 'missing_identity' && !isStored) ? 'unsaved' : null;
}

/** Why a recorded underline must not be shown; null if it must. */
export function refusal(page: RecordedPage, recorded: RecordedClaim, quote: Quote): Rule | null {
  const text = normalize(quote.text);
  const context = normalize(quote.context);
  const { start = 0, end = 0, range_text: range = '' } = recorded;
  if (page.holdsScripts && isSevered(page, text)) return 'never_text';
  if (normalize(range) !== text) return 'other_words';
  if (!page.checked.includes(text)) return 'across_blocks';
  const edges = [touching(page.raw, start), touching(page.raw, end)];
  if (edges.includes('word')) return 'cut_word';
  if (edges.includes('sign')) return 'joined';
  if (count(page.checked, text) > 1 && !namesOne(page.checked, text, context)) return 'ambiguous';
  if (!context.includes(text)) return null;
  if (!page.checked.includes(context)) return 'other_sentence';
  const isCut = places(page.checked, context).every((at) =>
    [at, at + context.length].some((edge) => touching(page.checked, edge) !== 'nothing'),
  );
  return isCut ? 'cut_context' : null;
}

/** Why we may show an underline where none was recorded; null if we may not. */
export function permission(page: RecordedPage, own: Place, quote: Quote): Rule | null {
  const text = normalize(quote.text);
  const plain = normalize(page.raw);
  const place = normalPlace(page.raw, own.start);
  const found = places(plain, text);
  if (found.length > 1 && found.includes(place)) {
    if (isOnlyWhole(plain, place, text)) return 'whole_words';
    return isNearest(plain, found, place, { text, context: normalize(quote.context) }) ? 'nearest_context' : null;
  }
  // Had the quote stood there as it is, the recorded side would have known better than we.
  if (plain.includes(text)) return null;
  if (count(page.checked, text) === 1) return 'block_edge';
  return isSame(own.range, quote.text) && count(letters(page.checked), letters(text)) === 1 ? 'typography' : null;
}

/** Why our place may be another than the recorded one; null if it may not. */
export function correction(page: RecordedPage, recorded: RecordedClaim, own: Place, quote: Quote): Rule | null {
  const text = normalize(quote.text);
  const { start, end, range } = own;
  const edges = [recorded.start ?? 0, recorded.end ?? 0] as const;
  if (end <= edges[0] || edges[1] <= start) {
    const isInWord = edges.some((at) => touching(page.raw, at) === 'word');
    return isInWord && isOnlyWhole(normalize(page.raw), normalPlace(page.raw, start), text) ? 'whole_words' : null;
  }
  if (!isSame(range, quote.text)) return null;
  if (normalize(recorded.range_text ?? '') !== text) return 'other_words';
  const isOnlyPlace = count(page.checked, text) === 1;
  return isOnlyPlace && bare(range) === bare(text) ? 'bare_edge' : null;
}

/** Whether two texts are the same letters and digits in the same order. */
function isSame(one: string, other: string): boolean {
  return letters(one) !== '' && letters(one) === letters(other);
}

/** A normalised text without soft hyphens, the marks without width that normalising leaves. */
function bare(text: string): string {
  return normalize(text).replaceAll('\u00ad', '');
}

function letters(text: string): string {
  return text.normalize('NFKC').replace(/\[[\p{L}\p{N}]{1,3}\]|[^\p{L}\p{N}]/gu, '');
}

function isSevered(page: RecordedPage, text: string): boolean {
  return normalize(page.raw).includes(text) && !page.checked.includes(text);
}

/** Whether a place is of no other word than its own. */
function isApart(raw: string, start: number, end: number): boolean {
  return touching(raw, start) === 'nothing' && touching(raw, end) === 'nothing';
}

/** Where the unit at a place lies in the normalised text. */
function normalPlace(raw: string, place: number): number {
  return normalize(`${raw.slice(0, place)}.`).length - 1;
}

/** Whether the quote stands as words of its own in this place alone. */
function isOnlyWhole(plain: string, place: number, text: string): boolean {
  const whole = places(plain, text).filter((at) => isApart(plain, at, at + text.length));
  return whole.length === 1 && whole[0] === place;
}

/** Whether the text around one place agrees with the quote's context further than that around any other. */
function isNearest(raw: string, found: readonly number[], place: number, { text, context }: Quote): boolean {
  const at = context.indexOf(text);
  if (at === -1) return false;
  const agreement = (start: number): number => {
    let units = 0;
    for (let i = 1; i <= at && raw[start - i] === context[at - i]; i += 1) units += 1;
    for (let i = text.length; at + i < context.length && raw[start + i] === context[at + i]; i += 1) units += 1;
    return units;
  };
  return found.every((other) => other === place || agreement(other) < agreement(place));
}

const WORD = /[\p{L}\p{N}\p{M}]/u;
/** Signs that may make one of what they touch: those of reckoning, money, measure and of joined words. */
const SIGN = /[\p{Sm}\p{Sc}\p{Sk}\p{No}\p{Pd}\p{Pc}°℃℉%‰/\\&*~#@.,:'’·…"]/u;

/** What touches a boundary in a way that may make one word of both sides; marks without width do not part words. */
function touching(raw: string, at: number): 'nothing' | 'sign' | 'word' {
  const invisible = '[\\u200b-\\u200d\\ufeff\\u00ad]';
  const before = Array.from(raw.slice(Math.max(0, at - 20), at).replace(new RegExp(`${invisible}+$`), ''));
  const after = Array.from(raw.slice(at, at + 20).replace(new RegExp(`^${invisible}+`), ''));
  const [left = '', right = ''] = [before.at(-1), after[0]];
  if (WORD.test(left) && WORD.test(right)) return 'word';
  const leftSign = SIGN.test(left);
  const rightSign = SIGN.test(right);
  if (!leftSign && !rightSign) return 'nothing';
  // A sign ties only what it touches on both sides; one of reckoning, money or measure needs no more than one.
  const further = leftSign ? (before.at(-2) ?? '') : (after[1] ?? '');
  const alone = /[\p{Sm}\p{Sc}\p{Sk}\p{No}%‰°℃℉/\\&#-]/u.test(leftSign ? left : right);
  const reaches = leftSign && rightSign ? true : WORD.test(leftSign ? right : left);
  return reaches && (alone || WORD.test(further) || SIGN.test(further)) ? 'sign' : 'nothing';
}

/** Whether the context stands in one place and holds the quote once. */
function namesOne(text: string, quote: string, context: string): boolean {
  return context !== '' && count(text, context) === 1 && count(context, quote) === 1;
}

function places(text: string, part: string): number[] {
  const found: number[] = [];
  if (part === '') return found;
  for (let at = text.indexOf(part); at !== -1; at = text.indexOf(part, at + 1)) found.push(at);
  return found;
}

function count(text: string, part: string): number {
  return places(text, part).length;
}
