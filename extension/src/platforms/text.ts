/**
 * The canonical form of text: what every hash, offset and quotation on the wire refers to.
 *
 * The server computes the same form of the same page. A character of difference gives another version of the post, so
 * readers of one page would no longer share one investigation.
 */
import { compose } from './compose';

const REPLACED = /[\u200b-\u200d\u2010-\u2015\u2018\u2019\u201c\u201d\u2026\ufeff]/g;

function replaceCharacter(character: string): string {
  if (character === '\u201c' || character === '\u201d') return '"';
  if (character === '\u2018' || character === '\u2019') return "'";
  if (character === '\u2026') return '...';
  return character >= '\u2010' && character <= '\u2015' ? '-' : '';
}

/** Compose, plain quotes and dashes, no zero-width marks, single spaces. Source: docs/protocol.md 3.1. */
export function normalize(raw: string): string {
  return collapse(raw).trim();
}

function collapse(raw: string): string {
  return compose(raw).replace(REPLACED, replaceCharacter).replace(/\s+/g, ' ');
}

/**
 * Measures the normal form of text that arrives in pieces, without normalising what came before each time.
 *
 * Nothing composes with an ASCII character that follows it, so what stands before one is settled.
 */
export class NormalLength {
  #settled = 0;
  #gap = false;
  #open = '';

  add(raw: string): void {
    this.#open += raw;
    let cut = this.#open.length - 1;
    while (cut > 0 && this.#open.charCodeAt(cut) > 0x7f) cut -= 1;
    if (cut <= 0) return;
    [this.#settled, this.#gap] = this.#with(this.#open.slice(0, cut));
    this.#open = this.#open.slice(cut);
  }

  /** UTF-16 units of the normal form of all that was added. */
  get value(): number {
    return this.#with(this.#open)[0];
  }

  #with(raw: string): [settled: number, gap: boolean] {
    const text = collapse(raw);
    const words = text.trim();
    if (words === '') return [this.#settled, this.#gap || text !== ''];
    const space = this.#settled > 0 && (this.#gap || text.startsWith(' ')) ? 1 : 0;
    return [this.#settled + space + words.length, text.endsWith(' ')];
  }
}

/** The first of these texts that says something, in its normal form. */
export function firstText(...raw: (string | null | undefined)[]): string | null {
  for (const text of raw) {
    const normal = normalize(text ?? '');
    if (normal !== '') return normal;
  }
  return null;
}

/** The normalised text of an element, null if there is none. */
export function textIn(element: Element | null | undefined): string | null {
  return firstText(element?.textContent);
}

/** The size of a text in UTF-8, which is what limits on the wire count. */
export function utf8Length(text: string): number {
  return new TextEncoder().encode(text).length;
}
