/**
 * One quote lies at one place only if every word is the same there, the first and the last included.
 *
 * Letters that agree are not enough: "effective" also lies inside "ineffective", "5" inside "5,000", "is" inside "isn't".
 * Without the look at what touches the quote, a correction made right at its edge would stay underlined.
 */
import { JOINED, LOOSE, type Folded } from './fold';

/** Whether the words of `needle[first, last)` are the words of `page` from `at` on. Both ends may still cut a word. */
export function sameWords(page: Folded, at: number, needle: Folded, first = 0, last = needle.glyphs.length): boolean {
  if (at < 0 || at + (last - first) > page.glyphs.length) return false;
  for (let i = first; i < last; i++) {
    if (page.glyphs.charCodeAt(at + i - first) !== needle.glyphs.charCodeAt(i)) return false;
  }
  return sameGaps(page, at, needle, first, last);
}

/** The same, where the letters are already known to agree. */
export function sameGaps(page: Folded, at: number, needle: Folded, first = 0, last = needle.glyphs.length): boolean {
  for (let i = first + 1; i < last; i++) {
    const here = page.gaps[at + i - first]!;
    const there = needle.gaps[i]!;
    if (here !== there && here !== LOOSE && there !== LOOSE) return false;
  }
  return true;
}

const WORD = /^[\p{L}\p{N}\p{M}_]$/u;
const DIGIT = /^\p{Nd}$/u;
/** Symbols that change the meaning of what they touch: %, $, °, <, ±, ², / and their kin. */
const SYMBOL = /^[\p{S}\p{No}%‰/_#@&*\\]$/u;
/** What joins two parts into one word or one number, when nothing lies between. */
const JOINER = /^[-.,:'\u00b7]$/;
const LONG_DASH = /[\u2012-\u2015]/;

/** Whether `at` in `page` cuts no word: what stands before it and after it, untouched by white space, are words of their own. */
export function cleanEdge(page: Folded, at: number, side: 'start' | 'end'): boolean {
  if (page.gaps[at] !== JOINED) return true;
  const inner = side === 'start' ? at : at - 1;
  const step = side === 'start' ? -1 : 1;
  const touching = inner + step;
  const word = glyph(page, inner);
  const outer = glyph(page, touching);
  if (WORD.test(outer)) return false;
  if (!WORD.test(word)) return !(SYMBOL.test(outer) && SYMBOL.test(word)) && !(DIGIT.test(beyond(page, touching, step)) && JOINER.test(outer));
  if (SYMBOL.test(outer)) return false;
  if (!JOINER.test(outer)) return true;
  const further = beyond(page, touching, step);
  const digits = DIGIT.test(word);
  if (outer === '-') {
    if (LONG_DASH.test(page.raw[page.from[touching]!] ?? '')) return !(digits && DIGIT.test(further));
    return side === 'end' ? !WORD.test(further) : !digits && !WORD.test(further);
  }
  return !WORD.test(further);
}

/** The unit past `touching`, or nothing when a gap lies between. */
function beyond(page: Folded, touching: number, step: number): string {
  const boundary = step > 0 ? touching + 1 : touching;
  return page.gaps[boundary] === JOINED ? glyph(page, touching + step) : '';
}

/** The whole character that unit `at` belongs to. */
function glyph(page: Folded, at: number): string {
  const code = page.glyphs.charCodeAt(at);
  if (Number.isNaN(code)) return '';
  const start = code >= 0xdc00 && code <= 0xdfff && at > 0 ? at - 1 : at;
  return String.fromCodePoint(page.glyphs.codePointAt(start)!);
}
