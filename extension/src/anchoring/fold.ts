/**
 * Two spellings of one word fold to the same units; two words never do.
 *
 * That is all that stands between a corrected sentence and an underline that stays: whatever is folded away here cannot
 * distinguish a correction from a reprint any more. So only typography goes (quotation marks, dashes, ligatures, width, soft
 * hyphens, invisible marks) and never case, digits in superscript, accents or letters.
 *
 * White space is kept apart from the units, as the gap before each: `glyphs` holds the words run together.
 */
import { compose as composeMarks } from '../platforms/compose';
import type { WalkedText } from './text';

/** Nothing before the unit; a place where a word may or may not end; white space. */
export const JOINED = 0;
export const LOOSE = 1;
export const SPACED = 2;

/**
 * Folded text. `from[i]` and `till[i]` bound in the raw text what unit `i` was made of; `gaps[i]` is what lies before it.
 * `gaps` has one entry more than there are units: what lies after the last.
 */
export interface Folded {
  readonly glyphs: string;
  readonly from: Uint32Array;
  readonly till: Uint32Array;
  readonly gaps: Uint8Array;
  readonly raw: string;
}

/** Letters of scripts that do not put spaces between words. */
export const UNSPACED =
  /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;

const SPACE = /[\s\u0085\u001c-\u001f]/;
/** Soft hyphen, zero-width characters, bidi marks and isolates, variation selectors, interlinear annotation. */
const INVISIBLE =
  /[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\ufff9-\ufffb\u{e0100}-\u{e01ef}]/u;
const ZERO_WIDTH_SPACE = '\u200b';
const MARK = /^[\p{M}\u1160-\u11ff]$/u;
/** Ligatures, presentation forms and full or half width: one letter in another shape. */
const SHAPE = /[\u0132\u0133\ufb00-\ufdcf\ufdf0-\ufdf9\ufe58\ufe63\ufe70-\ufefc\uff01-\uff9f]/;

const TYPOGRAPHY = new Map<string, string>(
  [
    ['"', '\u201c\u201d\u201e\u201f\u00ab\u00bb\u301d\u301e\u301f\u2033'],
    ["'", '\u2018\u2019\u201a\u201b\u2039\u203a\u02bc\u02bb\u2032'],
    ['-', '\u2010\u2011\u2012\u2013\u2014\u2015\u2212'],
    ['...', '\u2026'],
  ].flatMap(([plain, fancy]) => Array.from(fancy!).map((one) => [one, plain!] as const)),
);

/** Fold `text`, leaving out what lies in `skipped` ranges. */
export function fold(text: WalkedText, skipped: WalkedText['markers'] = []): Folded {
  const { raw, breaks } = text;
  // Nothing here grows by more than what one presentation form expands to; `grow` covers the rest.
  let room = raw.length + 64;
  let from = new Uint32Array(room);
  let till = new Uint32Array(room);
  let gaps = new Uint8Array(room + 1);
  const pieces: string[] = [];
  let ascii = '';
  let count = 0;
  let gap = JOINED;
  let nextBreak = 0;
  let nextSkip = 0;

  const grow = (): void => {
    room *= 2;
    from = copyInto(new Uint32Array(room), from);
    till = copyInto(new Uint32Array(room), till);
    gaps = copyInto(new Uint8Array(room + 1), gaps);
  };
  const put = (glyphs: string, start: number, end: number): void => {
    if (count + glyphs.length > room) grow();
    for (let i = 0; i < glyphs.length; i++) {
      from[count] = start;
      till[count] = end;
      gaps[count] = i === 0 ? gap : JOINED;
      count++;
    }
    gap = JOINED;
    ascii += glyphs;
    if (ascii.length > 4096) {
      pieces.push(ascii);
      ascii = '';
    }
  };

  let at = 0;
  while (at < raw.length) {
    while (nextBreak < breaks.length && breaks[nextBreak]! <= at) {
      if (gap === JOINED) gap = LOOSE;
      nextBreak++;
    }
    const skip = skipped[nextSkip];
    if (skip !== undefined && skip[0] <= at) {
      nextSkip++;
      at = Math.max(at, skip[1]);
      continue;
    }
    const code = raw.charCodeAt(at);
    const next = raw.charCodeAt(at + 1);
    if (code < 0x80 && !(next >= 0x300)) {
      if (code === 0x20 || (code >= 0x09 && code <= 0x0d) || (code >= 0x1c && code <= 0x1f)) gap = SPACED;
      else put(raw[at]!, at, at + 1);
      at++;
      continue;
    }
    const end = clusterEnd(raw, at);
    const cluster = raw.slice(at, end);
    if (end - at === lengthAt(raw, at)) {
      if (SPACE.test(cluster) && cluster !== '\ufeff') gap = SPACED;
      else if (INVISIBLE.test(cluster)) {
        if (cluster === ZERO_WIDTH_SPACE && gap === JOINED) gap = LOOSE;
      } else put(foldCharacter(cluster), at, end);
    } else put(compose(cluster), at, end);
    at = end;
  }
  if (nextBreak < breaks.length && gap === JOINED) gap = LOOSE;
  pieces.push(ascii);
  if (count + 1 > gaps.length) grow();
  gaps[count] = count === 0 || gap !== JOINED ? Math.max(gap, LOOSE) : LOOSE;
  if (count > 0) gaps[0] = Math.max(gaps[0]!, LOOSE);
  return {
    glyphs: pieces.join(''),
    from: from.subarray(0, count),
    till: till.subarray(0, count),
    gaps: gaps.subarray(0, count + 1),
    raw,
  };
}

/** Fold text of which only the characters are known. */
export function foldString(raw: string): Folded {
  return fold({ raw, breaks: [], markers: [] });
}

/** The end of the base character at `at` with the marks that combine with it. */
function clusterEnd(raw: string, at: number): number {
  let end = at + lengthAt(raw, at);
  if (SPACE.test(raw[at]!)) return end;
  while (end < raw.length && raw.charCodeAt(end) >= 0x300) {
    const mark = String.fromCodePoint(raw.codePointAt(end)!);
    if (!MARK.test(mark) || INVISIBLE.test(mark)) break;
    end += mark.length;
  }
  return end;
}

function lengthAt(raw: string, at: number): number {
  return (raw.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
}

function foldCharacter(one: string): string {
  const typographic = TYPOGRAPHY.get(one);
  if (typographic !== undefined) return typographic;
  if (SHAPE.test(one)) {
    const shaped = one.normalize('NFKC');
    if (!SPACE.test(shaped)) return shaped;
  }
  return one.normalize('NFC');
}

function compose(cluster: string): string {
  const base = String.fromCodePoint(cluster.codePointAt(0) ?? 0);
  return composeMarks(foldCharacter(base) + cluster.slice(base.length));
}

function copyInto<T extends Uint32Array | Uint8Array>(into: T, of: T): T {
  into.set(of);
  return into;
}
