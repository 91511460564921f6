/** Both sides leave out the same sections: titles are compared with the server's own list. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { excludedSections } from '../../src/platforms/wikipedia_sections';

const server = readFileSync(new URL('../../../platforms/wikipedia_sections.py', import.meta.url), 'utf8');
const quoted = (text: string): string[] => [...text.matchAll(/"([^"\n]+)"/g)].map((found) => found[1] ?? '');
const english = quoted(/ENGLISH: Final = frozenset\((.*?)\)\n"""/s.exec(server)?.[1] ?? '');
const others = [...server.matchAll(/^ {4}"([a-z-]+)": frozenset\((.*?)\n? *\),$/gms)];

test('the list was found', () => {
  expect(english).toContain('further reading');
  expect(others.map((found) => found[1])).toEqual(['de', 'es', 'fr', 'it', 'ja', 'nl', 'pl', 'pt', 'ru', 'zh']);
});

test.each(others.map((found) => [found[1] ?? '', quoted(found[2] ?? '')] as const))('%s', (language, titles) => {
  expect([...excludedSections(language)].sort()).toEqual([...new Set([...english, ...titles])].sort());
  expect([...excludedSections(`${language.toUpperCase()}-x`)].sort()).toEqual([...excludedSections(language)].sort());
});

test('of any other language only the English ones', () => {
  for (const language of ['', 'en', 'eo', 'constructor']) {
    expect([...excludedSections(language)].sort()).toEqual([...english].sort());
  }
});
