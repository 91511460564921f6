// @vitest-environment happy-dom
/**
 * Random posts, set in many ways and edited in others: whatever is underlined reads as the quote, in the sentence that was
 * checked, as far as the context shows that.
 */
import fc from 'fast-check';
import { expect, it } from 'vitest';

import { anchorClaims } from '../../src/anchoring';
import { piecesOf } from '../../src/page/ranges';
import { walk } from '../../src/page/walk';

/** Words, the last of which has its stop; their capitals do not show where a sentence begins. */
type Sentence = readonly string[];

const WORDS = ['Sydney', 'bats', 'is', 'the', "isn't", 'Ada', 'of', '𝒳', '🦇', 'גדול', '漢字', '10', 'so-called'];
const SPACES = [' ', '\n  ', '\u00a0', '<br>', ' <i class="out">no </i>', '</b> <b>', '</b></p><p><b>'];
const INSIDE = ['', '', '\u00ad', '\u200d', '\u2060', '\u200f', '\u202b', '</b><b>', '<wbr>', '<!-- no -->'];
const UNREAD = /[\u00ad\u200d\u200f\u202b\u2060\s]/g;

const sentences = fc.array(
  fc
    .tuple(
      fc.array(fc.constantFrom(...WORDS), { minLength: 2, maxLength: 6 }),
      fc.constantFrom('Moon.', 'Moon!', 'Moon?'),
    )
    .map(([words, last]): Sentence => [...words, last]),
  { minLength: 1, maxLength: 4 },
);
const settings = fc.array(fc.tuple(fc.constantFrom(...SPACES), fc.constantFrom(...INSIDE)), {
  minLength: 1,
  maxLength: 6,
});
/** What an author makes of one sentence. */
const edits = fc.array(
  fc.tuple(
    fc.nat(3),
    fc.constantFrom<(words: Sentence) => readonly Sentence[]>(
      (words) => [['It', 'is', 'false', 'that', ...words]],
      (words) => [['Not:', ...words]],
      (words) => [[...words.slice(0, -1), 'Moon', 'in', 'no', 'way.']],
      (words) => [[...words.slice(0, -1), 'Moon...', 'or', 'not.']],
      (words) => [words.with(1, 'never')],
      (words) => [words, words],
      (words) => [['New', 'here.'], words],
      () => [],
    ),
  ),
  { maxLength: 2 },
);

function render(shown: readonly Sentence[], looks: readonly (readonly [string, string])[]): string {
  const words = shown.flat().map((word, index) => {
    const [space, inside] = looks[index % looks.length]!;
    const [first, ...rest] = Array.from(word);
    return `${first}${inside}${rest.join('')}${space}`;
  });
  return `<article><p><b>${words.join('')}</b></p></article>`;
}

/** What a reader reads, without its spaces. */
function letters(...texts: readonly string[]): string {
  return texts.join('').replace(UNREAD, '');
}

it('underlines the sentence that was checked, or nothing', () => {
  const places = fc.tuple(fc.nat(), fc.nat(), fc.nat());
  let underlined = 0;
  fc.assert(
    fc.property(
      sentences,
      edits,
      settings,
      places,
      fc.nat(6),
      fc.nat(6),
      (checked, changes, looks, place, ...shown) => {
        const which = place[0] % checked.length;
        const meant = checked[which]!;
        const first = place[1] % meant.length;
        const last = first + 1 + (place[2] % (meant.length - first));
        const quote = meant.slice(first, last).join(' ');
        const before = [...checked.slice(0, which), meant.slice(0, first)].flat();
        const behind = [meant.slice(last), ...checked.slice(which + 1)].flat();
        const lead = before.slice(Math.max(0, before.length - shown[0]));
        const tail = behind.slice(0, shown[1]);
        const context = [...lead, quote, ...tail].join(' ');
        fc.pre(context.split(quote).length === 2);

        let now: readonly Sentence[] = checked;
        for (const [index, change] of changes) now = now.flatMap((words, i) => (i === index ? change(words) : [words]));
        document.body.innerHTML = render(now, looks);
        const walked = walk(document.querySelector('article')!, ({ className }) => className === 'out');
        const [found] = anchorClaims(walked.text, [{ id: 'c', text: quote, context }]);
        if (found?.outcome !== 'anchored') {
          if (changes.length === 0) expect(found?.outcome).toMatch(/ambiguous|joined/);
          return;
        }
        underlined++;

        const pieces = piecesOf(walked, found.start, found.end)!.map(({ range }) => String(range));
        expect(letters(...pieces)).toBe(letters(quote));
        let left = letters(walked.text.raw.slice(0, found.start)).length;
        const read = now.map((words) => letters(...words));
        const here = read.find((one) => left < one.length || (left -= one.length) < 0)!;
        const [sooner, later] = [here.slice(0, left), here.slice(left + letters(quote).length)];
        if (lead.length > first) expect(sooner).toBe(letters(...meant.slice(0, first)));
        else expect(sooner.endsWith(letters(...lead))).toBe(true);
        if (tail.length > meant.length - last) expect(later).toBe(letters(...meant.slice(last)));
        else expect(later.startsWith(letters(...tail))).toBe(true);
      },
    ),
    { numRuns: 500 },
  );
  expect(underlined).toBeGreaterThan(80);
});
