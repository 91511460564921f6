/** What browsers make of marks, in time that grows with the text. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { foldString } from '../../src/anchoring/fold';
import { compose } from '../../src/platforms/compose';
import { normalize } from '../../src/platforms/text';

const MARKS = ['\u0301', '\u0327', '\u0334', '\u0345', '\u034f', '\u0344', '\u0f71', '\u0f72', '\u0f73', '\u093c', '\u094d',
  '\u05b0', '\u064b', '\u3099', '\u{1d165}', '\u{1d16d}', '\u0903', '\u20dd', '\u1dcd', '\u035c']; // prettier-ignore
const letter = fc.constantFrom('a', 'e', 'ế', '\u1100', '\u1161', ' ', '=', '\u0915', '\ud83d');
const run = fc.string({ unit: fc.constantFrom(...MARKS), minLength: 60, maxLength: 200 });

test('a text is composed as the browser composes it', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(letter, run), { maxLength: 4 }), (pieces) => {
      const text = pieces.flat().join('');
      expect(compose(text)).toBe(text.normalize('NFC'));
    }),
  );
});

test('eight times as many marks take about eight times as long', () => {
  const measure = (marks: number): number => {
    const text = `a${'\u0301\u0327'.repeat(marks)}`;
    const before = process.cpuUsage();
    normalize(text);
    foldString(text);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000;
  };
  measure(1000);
  const less = Math.max(Math.min(measure(5000), measure(5000)), 2);
  expect(Math.min(measure(40_000), measure(40_000))).toBeLessThan(24 * less);
});
