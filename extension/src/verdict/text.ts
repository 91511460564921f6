/**
 * Texts as a check compares them: in code points, and with rules that no version of Unicode changes.
 *
 * The server's language counts and folds the same; tests/cases/verdict holds for both.
 */

/** A text without halves of surrogate pairs, which JSON lets through and no other program can read. */
export function wellFormed(text: string): string {
  return text.toWellFormed();
}

/** The first `most` code points. */
export function cut(text: string, most: number): string {
  return text.length <= most ? text : Array.from(text).slice(0, most).join('');
}

/** One space between words, none around them. */
export function collapse(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}

/** What two copies of one text share: composed, in lower case as far as ASCII goes, with single spaces. */
export function fold(text: string): string {
  return collapse(wellFormed(text).normalize('NFC')).replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}
