/**
 * A quote is anchored at the one place where all its words stand, in the sentence its context shows; else nowhere.
 *
 * Never the first of several places, never a place that is nearly right: a wrong underline costs more than a missing one.
 */
import { foldString, type Folded } from './fold';
import { type Edge, classifyEdge, hasSameGaps, hasSameWords } from './fits';
import { findSentence, isSentenceEdge } from './sentence';
import type { Quote } from './text';

/**
 * `near`: the letters are there, but a word is cut or the sentence around differs. `joined`: the words and the sentence
 * are there, but a sign makes it unclear whether they are words of their own.
 */
export type Match =
  | { readonly kind: 'unique'; readonly at: number; readonly length: number }
  | { readonly kind: 'several' | 'near' | 'joined' | 'none' };

/** More places than this are ambiguous without looking at each. */
const MOST_PLACES = 2000;

/** What some models put where they cut the context off. */
const CUT_OFF = /^\s*(?:\.{3}|\u2026)|(?:\.{3}|\u2026)\s*$/g;

/** Find the one place of `quote` in `page`. */
export function match(page: Folded, quote: Pick<Quote, 'text' | 'context'>): Match {
  const needle = foldString(quote.text);
  if (needle.glyphs.length === 0) return { kind: 'none' };
  const places = findOccurrences(page, needle);
  if (places === null) return { kind: 'several' };
  if (places.length === 0) return { kind: 'none' };
  const context = foldString(quote.context.replace(CUT_OFF, ''));
  const inContext = findOccurrences(context, needle);
  if (inContext === null) return { kind: 'several' };
  const length = needle.glyphs.length;
  const fits = places.map((at) =>
    inContext.length === 0
      ? worstEdge(classifyEdge(page, at, 'start'), classifyEdge(page, at + length, 'end'))
      : bestEdge(inContext.map((from) => compareSentence(page, at, context, from, length))),
  );
  const right = places.filter((_, index) => fits[index] === 'clean');
  if (right.length === 0) return { kind: fits.includes('joined') ? 'joined' : 'near' };
  if (right.length === 1) return { kind: 'unique', at: right[0]!, length };
  const exact = right.filter((at) => inContext.some((from) => hasSameWords(page, at - from, context)));
  return exact.length === 1 ? { kind: 'unique', at: exact[0]!, length } : { kind: 'several' };
}

/** Every place where the letters and the white space of `needle` stand; null if they are too many. */
function findOccurrences(page: Folded, needle: Folded): number[] | null {
  const found: number[] = [];
  for (let at = page.glyphs.indexOf(needle.glyphs); at !== -1; at = page.glyphs.indexOf(needle.glyphs, at + 1)) {
    if (!hasSameGaps(page, at, needle)) continue;
    if (found.length === MOST_PLACES) return null;
    found.push(at);
  }
  return found;
}

/** Whether the sentence that `context` shows around its own copy of the quote stands around `at` on the page. */
function compareSentence(page: Folded, at: number, context: Folded, from: number, length: number): Edge {
  const [first, last] = findSentence(context, from, from + length);
  const start = at - (from - first);
  const end = at + (last - from);
  if (!hasSameWords(page, start, context, first, last)) return 'cut';
  // Words put before or behind a whole sentence make it another sentence.
  if (first > 0 && !isSentenceEdge(page, start)) return 'cut';
  if (last < context.glyphs.length && !isSentenceEdge(page, end)) return 'cut';
  return worstEdge(
    classifyEdge(page, start, 'start', first < from),
    classifyEdge(page, end, 'end', last > from + length),
  );
}

function worstEdge(one: Edge, other: Edge): Edge {
  return one === 'clean' ? other : one === 'cut' ? one : other === 'cut' ? other : one;
}

function bestEdge(edges: readonly Edge[]): Edge {
  return edges.includes('clean') ? 'clean' : edges.includes('joined') ? 'joined' : 'cut';
}
