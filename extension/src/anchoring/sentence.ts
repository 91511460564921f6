/**
 * How far the sentence around a quote reaches inside the context it came with.
 *
 * An author corrects sentences, not quotes: "is visible from the Moon" is untouched when "not" is put before it. So the
 * words of the same sentence have to agree too, as far as the context shows them. Where it is unclear whether a full stop
 * ends a sentence (an abbreviation, a name) it does not: the guard reaches further and is only stricter.
 *
 * Units: folded units.
 */
import { JOINED, type Folded } from './fold';

const STOP = /[.!?\u3002\uff01\uff1f\u061f\u06d4\u0964]/;
const FULL_WIDTH_STOP = /[\u3002\u0964]/;
const CLOSING = /["')\]}\u300d\u300f\u3011]/;
const WORD = /[\p{L}\p{N}]/u;
/** What follows a stop within a sentence: "approx. 5", "Yahoo! says". A sentence can begin so, too. */
const GOES_ON = /[\p{Ll}\p{N}]/u;
const SURE_WORD = 4;

/** `[first, last)` of the sentence or sentences that `[start, end)` lies in. */
export function findSentence(context: Folded, start: number, end: number): readonly [number, number] {
  let first = start;
  while (first > 0 && !sentenceEndsAt(context, first)) first--;
  let last = end;
  while (last < context.glyphs.length && !(last > start && sentenceEndsAt(context, last))) last++;
  return [first, last];
}

/** Whether no sentence of the page can go on across the beginning of unit `at`. */
export function isSentenceEdge(page: Folded, at: number): boolean {
  return at === 0 || at === page.glyphs.length || sentenceEndsAt(page, at);
}

/** Whether a sentence surely ends right before unit `at`. */
function sentenceEndsAt(context: Folded, at: number): boolean {
  let i = at - 1;
  while (i >= 0 && CLOSING.test(context.glyphs[i]!) && context.gaps[i] === JOINED) i--;
  const stop = context.glyphs[i];
  if (stop === undefined || !STOP.test(stop)) return false;
  if (FULL_WIDTH_STOP.test(stop)) return true;
  if (context.gaps[at] === JOINED || GOES_ON.test(context.glyphs[at]!)) return false;
  if (stop !== '.') return true;
  let letters = 0;
  for (let k = i - 1; k >= 0 && context.gaps[k + 1] === JOINED && WORD.test(context.glyphs[k]!); k--) letters++;
  return letters >= SURE_WORD;
}
