/**
 * Which finding lies under the pointer: the caret gives the node, the boxes of that one piece show whether it is really there.
 *
 * The caret alone also answers in the blank right of a short line. Asking the browser for the highlights at a point costs
 * a hundred times more and is not for pointer moves.
 */
import type { Underlines } from './highlights';

/** Pixels around a word that still count as on it. */
const SLACK_PX = 2;

export interface Hit {
  readonly claimId: string;
  readonly box: DOMRect;
}

/** The finding at a point of the viewport. */
export function findingAt(doc: Document, underlines: Underlines, x: number, y: number): Hit | null {
  const caret = doc.caretPositionFromPoint(x, y);
  if (caret == null) return null;
  for (const piece of underlines.findingsIn(caret.offsetNode)) {
    if (caret.offset < piece.start || caret.offset > piece.end) continue;
    for (const box of piece.range.getClientRects()) {
      if (containsPoint(box, x, y)) return { claimId: piece.claimId, box };
    }
  }
  return null;
}

function containsPoint(box: DOMRect, x: number, y: number): boolean {
  return x >= box.left - SLACK_PX && x <= box.right + SLACK_PX && y >= box.top - SLACK_PX && y <= box.bottom + SLACK_PX;
}
