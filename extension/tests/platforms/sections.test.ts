/** Both sides leave out the same sections and elements: titles and classes are compared with the server's own lists. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { excludedClasses } from '../../src/platforms/wikipedia_classes';
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

test('classes', () => {
  const file = readFileSync(new URL('../../../platforms/wikipedia_text.py', import.meta.url), 'utf8');
  const common = quoted(/COMMON: Final = frozenset\((.*?)\n\)/s.exec(file)?.[1] ?? '');
  const own = [...file.matchAll(/^ {4}"([a-z-]+)": frozenset\((.*?)\),$/gm)];
  expect(common).toContain('navbox');
  expect(own.map((found) => found[1])).toEqual(['de', 'fr']);
  for (const [, language = '', classes = ''] of own) {
    expect([...excludedClasses(`${language}-x`)].sort()).toEqual([...common, ...quoted(classes)].sort());
  }
  for (const language of ['', 'en', 'nl', 'constructor']) {
    expect([...excludedClasses(language)].sort()).toEqual([...common].sort());
  }
});
