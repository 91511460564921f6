/**
 * Tells "the text has changed since" from "this is not here": words for the popup, never a reason to underline.
 *
 * Searching a page for every quote with errors allowed is slow, so only windows around the quote's rarest words are looked at.
 */
import search from 'approx-string-match';

import { JOINED, UNSPACED, type Folded } from './fold';

const WORD = /[\p{L}\p{N}\p{M}]+/gu;
/** Share of a quote that may differ in a sentence that is still recognisably the same. */
const TOLERANCE = 0.4;
const MOST_SEEDS = 6;
const MOST_PLACES_PER_SEED = 12;
/** A shorter quote resembles too much by chance. */
const SHORTEST = 8;
/** Longer quotes are recognised by their beginning. */
const LONGEST = 400;

/** Where each word of a page stands. */
export type WordTable = ReadonlyMap<string, readonly number[]>;

export function buildWordTable(page: Folded): WordTable {
  const table = new Map<string, number[]>();
  for (const [word, at] of listWords(page)) {
    const places = table.get(word);
    if (places === undefined) table.set(word, [at]);
    else places.push(at);
  }
  return table;
}

/** Whether something close to `quote` stands on the page. */
export function resembles(page: Folded, table: WordTable, quote: Folded): boolean {
  const pattern = quote.glyphs.slice(0, LONGEST);
  if (pattern.length < SHORTEST) return false;
  const allowed = Math.floor(pattern.length * TOLERANCE);
  const seeds = [...listWords(quote)]
    .filter(([word, at]) => at < LONGEST && table.has(word))
    .sort(([one], [other]) => table.get(one)!.length - table.get(other)!.length || other.length - one.length)
    .slice(0, MOST_SEEDS);
  const seen = new Set<number>();
  for (const [word, offset] of seeds) {
    for (const place of table.get(word)!.slice(0, MOST_PLACES_PER_SEED)) {
      const start = Math.max(0, place - offset - allowed);
      // Two seeds of one sentence open nearly the same window.
      const bucket = Math.round((place - offset) / Math.max(1, allowed));
      if (seen.has(bucket)) continue;
      seen.add(bucket);
      const window = page.glyphs.slice(start, place - offset + pattern.length + allowed);
      if (search(window, pattern, allowed).length > 0) return true;
    }
  }
  return false;
}

/** The words of a folded text with their places, in lower case. */
function* listWords(text: Folded): Generator<readonly [string, number]> {
  let start = 0;
  for (let i = 1; i <= text.glyphs.length; i++) {
    if (i < text.glyphs.length && text.gaps[i] === JOINED) continue;
    for (const found of text.glyphs.slice(start, i).matchAll(WORD)) {
      const at = start + found.index;
      // Two characters stand for a word there.
      if (UNSPACED.test(found[0])) yield* listPairs(found[0], at);
      else yield [found[0].toLowerCase(), at];
    }
    start = i;
  }
}

function* listPairs(run: string, at: number): Generator<readonly [string, number]> {
  for (let i = 0; i + 1 < run.length; i++) yield [run.slice(i, i + 2), at + i];
}
