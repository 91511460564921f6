/** The cases that the server's language runs too. */
import { readFileSync } from 'node:fs';

export function cases<T>(name: string): T[] {
  const path = new URL(`../../../tests/cases/verdict/${name}.json`, import.meta.url);
  return JSON.parse(readFileSync(path, 'utf8')) as T[];
}
