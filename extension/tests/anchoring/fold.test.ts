import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { fold, foldString, JOINED, LOOSE, SPACED } from '../../src/anchoring/fold';

/** The same cases as the server's look-up of quotations is tested with. */
const INVISIBLE = JSON.parse(readFileSync(new URL('../../../tests/cases/invisible.json', import.meta.url), 'utf8')) as {
  name: string;
  character: string;
  ignored: boolean;
}[];

describe('folding', () => {
  it.each(INVISIBLE)('$name: ignored $ignored', ({ character, ignored }) => {
    const [plain, marked] = ['tea 地', `te${character}a 地${character}`].map((text) => foldString(text).glyphs);
    expect(marked === plain).toBe(ignored);
  });

  it.each([
    ['\u201csmart\u201d \u2018quotes\u2019', '"smart"\'quotes\''],
    ['\u201eGänsefüßchen\u201c \u00abguillemets\u00bb', '"Gänsefüßchen""guillemets"'],
    ['1997\u20132005 \u2212 5 \u2014 6', '1997-2005-5-6'],
    ['wait\u2026', 'wait...'],
    ['hy\u00adphen\u00adated', 'hyphenated'],
    ['\ufb01nal e\ufb00ort', 'finaleffort'],
    ['\uff21\uff22\uff11', 'AB1'],
    ['a\u200bb\u200dc\u2060d\ufeffe', 'abcde'],
    ['\u202bשלום\u202c\u200f', 'שלום'],
    ['cafe\u0301 \u212b', 'caféÅ'],
    ['\u1112\u1161\u11ab', '한'],
    ['\u2764\ufe0f \u2764', '\u2764\u2764'],
  ])('%j becomes %j', (raw, glyphs) => {
    expect(foldString(raw).glyphs).toBe(glyphs);
  });

  it.each(['x²', '5 °C', '½', 'ß', 'ı', 'æ', 'Ω', '№', 'ª'])('%j stays what it means', (raw) => {
    expect(foldString(raw).glyphs).toBe(raw.normalize('NFC').replace(/\s/g, ''));
  });

  it('never equates what differs in case, accent or digit', () => {
    for (const [one, other] of [
      ['Polish', 'polish'],
      ['año', 'ano'],
      ['m2', 'm²'],
      ['10', '10\u2070'],
    ]) {
      expect(foldString(one!).glyphs).not.toBe(foldString(other!).glyphs);
    }
  });

  it('distinguishes white space, block edges and nothing', () => {
    const folded = fold({ raw: 'ab c\u200bde', breaks: [1, 6], markers: [] });
    expect(folded.glyphs).toBe('abcde');
    expect([...folded.gaps]).toEqual([LOOSE, LOOSE, SPACED, LOOSE, LOOSE, LOOSE]);
    expect(foldString('ab').gaps[1]).toBe(JOINED);
  });

  it('leaves out what is skipped', () => {
    const folded = fold({ raw: 'one[1] two', breaks: [], markers: [] }, [[3, 6]]);
    expect(folded.glyphs).toBe('onetwo');
    expect([...folded.from]).toEqual([0, 1, 2, 7, 8, 9]);
  });

  const text = fc.string({
    unit: fc.oneof(
      fc.constantFrom(
        ...'ab 1.-"\'\n\u00a0\u200b\u00ad\u2026\u201c\u2014\ufb01\u0301\u202e\ud83d\ude00é한ش[]'.split(''),
      ),
      fc.constantFrom('😀', '👨‍👩‍👧', 'ﷺ', '\u1100\u1161', '🇩🇪'),
    ),
    maxLength: 60,
  });

  it('maps every unit to where it came from, in order', () => {
    fc.assert(
      fc.property(text, (raw) => {
        const { glyphs, from, till, gaps } = foldString(raw);
        expect(from.length).toBe(glyphs.length);
        expect(gaps.length).toBe(glyphs.length + 1);
        for (let i = 0; i < glyphs.length; i++) {
          expect(from[i]!).toBeLessThan(till[i]!);
          expect(till[i]!).toBeLessThanOrEqual(raw.length);
          if (i > 0) expect(from[i]!).toBeGreaterThanOrEqual(from[i - 1]!);
        }
      }),
    );
  });

  it('is the same when done twice', () => {
    fc.assert(
      fc.property(text, (raw) => {
        // A mark behind a space belongs to no letter, until the space is gone.
        const once = foldString(raw).glyphs.normalize('NFC');
        expect(foldString(once).glyphs).toBe(once);
      }),
      { examples: [['a \u0301'], ['a\u00ad\u0301']] },
    );
  });

  it('keeps every letter of text that is not typography', () => {
    fc.assert(
      fc.property(fc.array(fc.stringMatching(/^[a-zA-Z0-9]{1,8}$/), { maxLength: 12 }), (words) => {
        expect(foldString(words.join(' ')).glyphs).toBe(words.join(''));
      }),
    );
  });
});
