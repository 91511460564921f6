/**
 * What the in-page interface reads of the page around it: viewport, direction, where a sentence is, and the focus.
 */
import type { Size } from './frame_messages';
import { boundingBox, type Box } from './geometry';
import type { Underlines } from './highlights';
import type { HostElement } from './host_element';

/** The viewport without scroll bars. */
export function viewportOf(doc: Document): Size {
  const { clientWidth, clientHeight } = doc.documentElement;
  const view = doc.defaultView!;
  return { width: clientWidth || view.innerWidth, height: view.innerHeight || clientHeight };
}

export function isRightToLeft(doc: Document): boolean {
  return doc.defaultView!.getComputedStyle(doc.documentElement).direction === 'rtl';
}

/** All lines of a finding. */
export function sentenceBox(underlines: Underlines, claimId: string): Box | null {
  return boundingBox(underlines.piecesOf(claimId).flatMap(({ range }) => [...range.getClientRects()]));
}

/** The element that had the focus before the frame took it. */
export class SavedFocus {
  readonly #host: HostElement;
  #element: Element | null = null;

  constructor(host: HostElement) {
    this.#host = host;
  }

  save(): void {
    this.#element = this.#host.focused ?? this.#element;
  }

  restore(): void {
    const before = this.#element;
    this.#element = null;
    if (before instanceof HTMLElement && before.isConnected) before.focus({ preventScroll: true });
  }
}
