/**
 * A quote is anchored at the one place where all its words stand, in the sentence its context shows; else nowhere.
 *
 * Never the first of several places, never a place that is nearly right: a wrong underline costs more than a missing one.
 */
import { foldString, type Folded } from './fold';
import { cleanEdge, sameGaps, sameWords } from './fits';
import { sentenceAround } from './sentence';
import type { Quote } from './text';

/** `near`: the letters are there, but a word is cut or the sentence around differs. */
export type Match =
  | { readonly kind: 'unique'; readonly at: number; readonly length: number }
  | { readonly kind: 'several' | 'near' | 'none' };

/** More places than this are ambiguous without looking at each. */
const MOST_PLACES = 2000;

/** What some models put where they cut the context off. */
const CUT_OFF = /^\s*(?:\.{3}|\u2026)|(?:\.{3}|\u2026)\s*$/g;

/** Find the one place of `quote` in `page`. */
export function match(page: Folded, quote: Pick<Quote, 'text' | 'context'>): Match {
  const needle = foldString(quote.text);
  if (needle.glyphs.length === 0) return { kind: 'none' };
  const places = occurrences(page, needle);
  if (places.length === 0) return { kind: 'none' };
  const context = foldString(quote.context.replace(CUT_OFF, ''));
  const inContext = occurrences(context, needle);
  const length = needle.glyphs.length;
  const right = places.filter((at) =>
    inContext.length === 0
      ? cleanEdge(page, at, 'start') && cleanEdge(page, at + length, 'end')
      : inContext.some((from) => inSameSentence(page, at, context, from, length)),
  );
  if (right.length === 0) return { kind: 'near' };
  if (right.length === 1) return { kind: 'unique', at: right[0]!, length };
  const exact = right.filter((at) => inContext.some((from) => sameWords(page, at - from, context)));
  return exact.length === 1 ? { kind: 'unique', at: exact[0]!, length } : { kind: 'several' };
}

/** Every place where the letters and the white space of `needle` stand. */
function occurrences(page: Folded, needle: Folded): number[] {
  const found: number[] = [];
  let at = page.glyphs.indexOf(needle.glyphs);
  while (at !== -1 && found.length < MOST_PLACES) {
    if (sameGaps(page, at, needle)) found.push(at);
    at = page.glyphs.indexOf(needle.glyphs, at + 1);
  }
  return found;
}

/** Whether the sentence that `context` shows around its own copy of the quote stands around `at` on the page. */
function inSameSentence(page: Folded, at: number, context: Folded, from: number, length: number): boolean {
  const [first, last] = sentenceAround(context, from, from + length);
  return (
    sameWords(page, at - (from - first), context, first, last) &&
    cleanEdge(page, at - (from - first), 'start') &&
    cleanEdge(page, at + (last - from), 'end')
  );
}
