/** The canonical forms of text and dates, and the measure of a text that grows with it. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isoDate } from '../../src/platforms/structured';
import { NormalLength, normalize } from '../../src/platforms/text';

describe('the canonical form', () => {
  test.each([
    ['  a\t\nb  ', 'a b'],
    ['“a” ‘b’', '"a" \'b\''],
    ['a\u2010b\u2015c', 'a-b-c'],
    ['wait…', 'wait...'],
    ['a\u200b \ufeffb\u200d', 'a b'],
    ['e\u0301', '\u00e9'],
    ['a\u00a0\u3000\u2028b', 'a b'],
    ['a\u0085\u001cb', 'a\u0085\u001cb'],
    ['\ud83d\u200b\ude00', '😀'],
    ['\ud83d', '\ud83d'],
  ])('%j is %j', (raw, normal) => {
    expect(normalize(raw)).toBe(normal);
  });
});

const letters = ['a', 'B', '1', ' ', '\n', '\u00a0', '…', '“', '—', '\u200b', '\ufeff', 'e', '\u0301', '\u0323', 'é',
  '\u1100', '\u1161', '\u11a8', '\u0338', '=', '\ud83d', '\ude00', '😀', '\u0f71', '\u0f72', '\u2126']; // prettier-ignore
const piece = fc.string({ unit: fc.constantFrom(...letters), maxLength: 6 });

describe('the measure', () => {
  test('is the length of the canonical form, after every piece', () => {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const length = new NormalLength();
        let text = '';
        for (const one of pieces) {
          length.add(one);
          text += one;
          expect(length.value).toBe(normalize(text).length);
        }
      }),
      { numRuns: 2000 },
    );
  });
});

describe('a date that a page states', () => {
  test.each([
    [' 2026-01-02T03:04:05Z ', '2026-01-02T03:04:05.000Z'],
    ['0001-01-01', '0001-01-01T00:00:00.000Z'],
    ['0000-01-01', null],
    ['-000001-01-01T00:00:00Z', null],
    ['soon', null],
    [1, null],
  ])('%j is %j on the wire', (stated, instant) => {
    expect(isoDate(stated)).toBe(instant);
  });
});
