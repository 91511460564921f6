/**
 * One quote lies at one place only if every word is the same there, the first and the last included.
 *
 * Letters that agree are not enough: "effective" also lies inside "ineffective", "5" inside "5,000", "is" inside "isn't".
 * Without the look at what touches the quote, a correction made right at its edge would stay underlined.
 */
import { JOINED, LOOSE, UNSPACED, type Folded } from './fold';

/** Whether the words of `needle[first, last)` are the words of `page` from `at` on. Both ends may still cut a word. */
export function hasSameWords(
  page: Folded,
  at: number,
  needle: Folded,
  first = 0,
  last = needle.glyphs.length,
): boolean {
  if (at < 0 || at + (last - first) > page.glyphs.length) return false;
  for (let i = first; i < last; i++) {
    if (page.glyphs.charCodeAt(at + i - first) !== needle.glyphs.charCodeAt(i)) return false;
  }
  return hasSameGaps(page, at, needle, first, last);
}

/** As `hasSameWords`, for letters that are already known to agree. */
export function hasSameGaps(page: Folded, at: number, needle: Folded, first = 0, last = needle.glyphs.length): boolean {
  for (let i = first + 1; i < last; i++) {
    const here = page.gaps[at + i - first]!;
    const there = needle.gaps[i]!;
    if (here !== there && here !== LOOSE && there !== LOOSE) return false;
  }
  return true;
}

const WORD = /^[\p{L}\p{N}\p{M}]$/u;
const DIGIT = /^\p{Nd}$/u;
/** Signs that change the meaning of what they touch: %, $, °, <, ±, ², / and their kin. */
const SYMBOL = /^[\p{S}\p{No}%‰/&\\]$/u;
/** Pictures, arrows, shapes and marks of trade: they stand beside a word and are no part of it. Not signs of arithmetic (➕). */
const ORNAMENT =
  /^(?![\u2716\u2795-\u2797])[\p{Extended_Pictographic}\p{Emoji_Modifier}\p{Regional_Indicator}\u2190-\u21ff\u2500-\u27bf\u27f0-\u27ff\u2900-\u297f\u2b00-\u2bff|\u{e0020}-\u{e007f}]$/u;
/** Signs that mark emphasis, names and tags; between two words such a sign joins them into one. */
const MARKUP = /^[*_~`#@]$/;
/** Signs that join two parts into one word or one number, when no gap lies between. */
const JOINER = /^[-.,:'\u00b7]$/;
/** An ellipsis. */
const LONGEST_SIGN = 3;
const LONG_DASH = /[\u2012-\u2015]/;

/**
 * Whether what lies on one side of a boundary is a word of its own there.
 *
 * `cut`: it is a part of another word or number. `joined`: it may be, by the sign that touches it.
 */
export type Edge = 'clean' | 'joined' | 'cut';

/**
 * Whether the quote that starts or ends at `at` in `page` cuts a word there.
 *
 * `inContext`: the boundary is that of the context around a quote. Scripts without spaces show no word's end: there a
 * context may end after any character, a quote only at punctuation, or `可能` would be underlined in `不可能`.
 */
export function classifyEdge(page: Folded, at: number, side: 'start' | 'end', inContext = false): Edge {
  const step = side === 'start' ? -1 : 1;
  const outer = signBeyond(page, at, step);
  if (outer === null) return 'clean';
  const inner = characterAt(page, side === 'start' ? at : at - 1);
  if (ORNAMENT.test(inner)) return ORNAMENT.test(outer.sign) && isOneEmoji(page, at) ? 'cut' : 'clean';
  const isUnspaced = UNSPACED.test(inner) || UNSPACED.test(outer.sign);
  if (WORD.test(outer.sign)) {
    const isApart = WORD.test(inner) ? inContext && isUnspaced : separatesWords(page, at, inner, outer.sign, side);
    return isApart ? 'clean' : 'cut';
  }
  const further = signBeyond(page, outer.past, step)?.sign ?? '';
  const reckons = DIGIT.test(inner) || DIGIT.test(further);
  const joined = reckons ? 'cut' : 'joined';
  if (ORNAMENT.test(outer.sign)) return DIGIT.test(inner) && DIGIT.test(further) ? 'cut' : 'clean';
  if (!WORD.test(inner)) {
    const runsOn = (SYMBOL.test(outer.sign) && SYMBOL.test(inner)) || (DIGIT.test(further) && JOINER.test(outer.sign));
    return runsOn ? joined : 'clean';
  }
  if (MARKUP.test(outer.sign)) {
    if (outer.sign === '~' && side === 'start' && DIGIT.test(inner)) return 'cut';
    if (outer.sign === '#' && side === 'end') return joined;
    return WORD.test(signBeyondMarkup(page, outer.past, step)) ? joined : 'clean';
  }
  if (SYMBOL.test(outer.sign)) return joined;
  if (!JOINER.test(outer.sign)) return 'clean';
  // After a full-width comma no space is written: it folds to a plain one.
  const touches = WORD.test(further) && (outer.sign === '-' || !(isUnspaced || UNSPACED.test(further)));
  if (outer.sign === '-' && LONG_DASH.test(page.raw[page.from[step < 0 ? at - 1 : at]!] ?? '')) {
    return DIGIT.test(inner) && DIGIT.test(further) ? 'cut' : 'clean';
  }
  // A hyphen before a number is its minus.
  const minus = outer.sign === '-' && side === 'start' && DIGIT.test(inner);
  return touches || minus ? joined : 'clean';
}

/** The whole sign beyond a boundary, and the boundary past it; null when a gap lies between. */
function signBeyond(page: Folded, at: number, step: number): { readonly sign: string; readonly past: number } | null {
  if (page.gaps[at] !== JOINED) return null;
  const sign = characterAt(page, step < 0 ? at - 1 : at);
  return sign === '' ? null : { sign, past: at + step * sign.length };
}

/** What stands behind a run of markup. */
function signBeyondMarkup(page: Folded, at: number, step: number): string {
  let next = signBeyond(page, at, step);
  while (next !== null && MARKUP.test(next.sign)) next = signBeyond(page, next.past, step);
  return next?.sign ?? '';
}

/** Whether a quote's outermost sign separates the word that touches it: "blind!See", "one, two", but not "5.5" nor "example.com". */
function separatesWords(page: Folded, at: number, inner: string, outer: string, side: 'start' | 'end'): boolean {
  if (/["!?\u0964\u3001-\u3003\u3008-\u3011\u3014-\u301f]/.test(inner)) return true;
  if (/[.,:;()]/.test(inner) && UNSPACED.test(outer)) return true;
  if (side === 'end') return inner === '.' && /\p{Lu}/u.test(outer) && /\p{Ll}/u.test(characterAt(page, at - 2));
  const signs = /^[.,:;)]+/.exec(page.glyphs.slice(at, at + LONGEST_SIGN))?.[0].length ?? 0;
  return signs > 0 && page.gaps[at + signs] !== JOINED;
}

/** Whether a boundary lies inside what is shown as one picture: a family, a tone of skin, a flag. */
function isOneEmoji(page: Folded, at: number): boolean {
  const before = characterAt(page, at - 1);
  const after = characterAt(page, at);
  const between = page.raw.slice(page.till[at - 1], page.from[at]);
  return (
    between.includes('\u200d') ||
    /^[\p{Emoji_Modifier}\u{e0020}-\u{e007f}]$/u.test(after) ||
    (/^\p{Regional_Indicator}$/u.test(before) && /^\p{Regional_Indicator}$/u.test(after))
  );
}

/** The whole character that unit `at` belongs to. */
function characterAt(page: Folded, at: number): string {
  const code = page.glyphs.charCodeAt(at);
  if (Number.isNaN(code)) return '';
  const start = code >= 0xdc00 && code <= 0xdfff && at > 0 ? at - 1 : at;
  return String.fromCodePoint(page.glyphs.codePointAt(start)!);
}
