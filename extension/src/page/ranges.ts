/**
 * From offsets in the walked text back to places in the page.
 *
 * One range per text node, so that text which was walked around (a reference mark, an edit link) inside a quote gets no
 * underline, and so that a place is known by its node without asking every range. A node that no longer holds what was
 * walked gives no range at all: better no underline than one that slipped.
 */
import type { Walk } from './walk';

export interface Piece {
  readonly node: Text;
  readonly start: number;
  readonly end: number;
  readonly words: string;
  readonly range: Range;
}

const BLANK = /^\s*$/;

/** The pieces of `[start, end)`, or null when the page changed under the walk. */
export function piecesOf(walk: Walk, start: number, end: number): Piece[] | null {
  const pieces: Piece[] = [];
  for (let i = nodeAt(walk.starts, start); i < walk.nodes.length && walk.starts[i]! < end; i++) {
    const node = walk.nodes[i]!;
    const base = walk.starts[i]!;
    const next = walk.starts[i + 1] ?? walk.text.raw.length;
    if (!node.isConnected || node.data !== walk.text.raw.slice(base, next)) return null;
    const from = Math.max(0, start - base);
    const till = Math.min(node.data.length, end - base);
    const words = node.data.slice(from, till);
    if (BLANK.test(words)) continue;
    const range = node.ownerDocument.createRange();
    range.setStart(node, from);
    range.setEnd(node, till);
    pieces.push({ node, start: from, end: till, words, range });
  }
  return pieces.length === 0 ? null : pieces;
}

/** Whether the page still shows what the piece was made of. A range follows a node whose words are replaced within it. */
export function isIntact({ node, start, words, range }: Piece): boolean {
  return node.isConnected && range.startContainer === node && range.startOffset === start && String(range) === words;
}

/** The last node that begins at or before `at`. */
function nodeAt(starts: readonly number[], at: number): number {
  let low = 0;
  let high = starts.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (starts[middle]! <= at) low = middle + 1;
    else high = middle;
  }
  return Math.max(0, low - 1);
}
