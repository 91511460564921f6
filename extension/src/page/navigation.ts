/**
 * Navigates between findings: which is current, which comes next, and scrolling to it.
 */
import type { Underlines } from './highlights';

export class FindingNavigation {
  readonly #doc: Document;
  readonly #underlines: Underlines;
  /** The finding that next and previous count from, even when it is no longer looked at. */
  #last: string | null = null;

  constructor(doc: Document, underlines: Underlines) {
    this.#doc = doc;
    this.#underlines = underlines;
  }

  /** A finding is looked at now, or none. */
  look(claimId: string | null): void {
    this.#last = claimId ?? this.#last;
    this.#underlines.setCurrent(claimId);
  }

  /** The finding after the last one, or before it, wrapping around; null where there is none. */
  next(by: 1 | -1): string | null {
    const ids = this.#underlines.claimIds;
    const at = ids.indexOf(this.#last ?? '');
    const first = by === 1 ? 0 : ids.length - 1;
    return ids[at === -1 ? first : (at + by + ids.length) % ids.length] ?? null;
  }

  /** Look at a finding and bring it into sight; false if it is not on the page. */
  locate(claimId: string): boolean {
    const piece = this.#underlines.piecesOf(claimId)[0];
    const element = piece?.node.parentElement;
    if (piece === undefined || element == null) return false;
    this.look(claimId);
    this.#show(piece.range, element);
    return true;
  }

  #show(words: Range, element: Element): void {
    // A browser does not scroll to words in a closed element.
    let closed: HTMLElement | null;
    while ((closed = element.closest<HTMLElement>('details:not([open]), [hidden="until-found" i]')) !== null) {
      if (closed instanceof HTMLDetailsElement) closed.open = true;
      else {
        // As after the browser's own search, so that the page's button says that it is open.
        closed.dispatchEvent(new Event('beforematch', { bubbles: true }));
        closed.hidden = false;
      }
    }
    const view = this.#doc.defaultView!;
    const room = view.innerHeight || this.#doc.documentElement.clientHeight;
    const { top, bottom } = words.getBoundingClientRect();
    if (top >= 0 && bottom <= room) return;
    const isTall = element.getBoundingClientRect().height > room;
    const calm = isTall || view.matchMedia('(prefers-reduced-motion: reduce)').matches;
    element.scrollIntoView({ block: 'center', behavior: calm ? 'instant' : 'smooth' });
    if (!isTall) return;
    // The middle of such a paragraph is in sight now, and the words may not be.
    const found = words.getBoundingClientRect();
    view.scrollBy({ top: found.top - Math.max(0, (room - found.height) / 2), behavior: 'instant' });
  }
}
