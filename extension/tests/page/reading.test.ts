// @vitest-environment happy-dom
import { expect, test } from 'vitest';
import { PageReading } from '../../src/page/reading';

test('a post that the page replaced while it was read is read again', async () => {
  document.body.innerHTML = '<main>Old words.</main>';
  const replacements = ['New words.'];
  const reading = new PageReading({
    sliceMs: 0,
    now: () => 0,
    yieldToPage: () => {
      const words = replacements.pop();
      if (words !== undefined) {
        document.body.innerHTML = `<main>${words}</main>`;
        reading.touch([document.body]);
      }
      return Promise.resolve();
    },
  });
  const found = await reading.look(
    function* () {
      const root = document.querySelector('main')!;
      const words = root.textContent;
      yield;
      return { words, location: { root, scope: null, excluded: () => false } };
    },
    () => false,
  );
  expect(found?.words).toBe('New words.');
});
