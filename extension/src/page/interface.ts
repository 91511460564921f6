/**
 * From what a reader does to what the in-page frame shows: hovering, clicking, keys, and the frame's own word.
 *
 * `gestures.ts` hears the page, `tour.ts` goes from finding to finding, `framed.ts` speaks to the frame; here is decided
 * what is shown. What appears on hover can be reached with the pointer, closed with Escape,
 * and stays until the pointer leaves both (WCAG 1.4.13).
 */
import { around, besideWords, inCorner, inSight, roomIn, type Box, type Spot } from './geometry';
import { RESTING, type Finding, type FromFrame, type Size, type View } from './frame_messages';
import { Framed, type FramePort } from './framed';
import { groundOf } from './ground';
import type { Underlines } from './highlights';
import { listen } from './gestures';
import { findingAt, type Hit } from './hit';
import type { Shown } from './ports';
import { Tour } from './tour';

export interface InterfaceOptions {
  readonly doc: Document;
  /** The frame's address without its secret. */
  readonly address: string;
  readonly title: string;
  readonly underlines: Underlines;
  shown(): Shown;
  /** Where the words are, to tell what ground they stand on. */
  root(): Element | null;
}

/** Time for the pointer to get from the words to the tooltip. */
const LEAVE_MS = 300;

export class Interface {
  readonly #options: InterfaceOptions;
  readonly #frame: Framed;
  readonly #tour: Tour;
  readonly #stop = new AbortController();
  #view: View = RESTING;
  #size: Size | null = null;
  #words: Hit | null = null;
  /** Where the words of the panel stood as it opened: it does not jump while the page is scrolled under it. */
  #explained: Box | null = null;
  #focusWithin = false;
  #leaving: ReturnType<typeof setTimeout> | undefined;
  #focusBefore: Element | null = null;

  constructor(options: InterfaceOptions) {
    this.#options = options;
    this.#tour = new Tour(options.doc, options.underlines);
    this.#frame = new Framed(
      options.doc,
      options.address,
      options.title,
      (message) => this.#onFrame(message),
      () => this.#onLost(),
    );
  }

  /** Listen to the page. */
  start(): void {
    listen(
      this.#options.doc,
      {
        wanted: () => this.#options.underlines.claimIds.length > 0,
        pointed: (x, y) => this.#point(x, y),
        left: () => this.#leaveSoon(),
        clicked: (click) => this.#onClick(click.x, click.y, click.path, click.isPlain),
        escape: () => {
          if (this.#view.kind !== 'resting') this.close(false);
        },
        // A reader who uses the keyboard must find the list on the way; it is read, not seen, until the focus is in it.
        tab: () => {
          if (this.#options.shown().findings.length > 0) this.#frame.ensure();
        },
        scrolled: () => this.#onScroll(),
      },
      this.#stop.signal,
    );
  }

  /** Take the port that a frame opened; false if it is not from ours. */
  accept(port: FramePort): boolean {
    return this.#frame.accept(port);
  }

  /** The findings or their underlines are others now. */
  refresh(): void {
    if (this.#view.kind !== 'resting' && !this.#knows(this.#view.claimId)) this.close(false);
    if (this.#frame.ready) this.#tellFindings();
  }

  /** The ground may have another colour now. */
  recolour(): void {
    if (this.#options.shown().findings.length === 0) return;
    const ground = groundOf(this.#options.root());
    this.#options.underlines.setGround(ground);
    if (this.#frame.ready) this.#frame.tell({ kind: 'ground', ground });
  }

  /** Scroll to a finding and put the focus on it in the list, so that it is read out; false if it is not on the page. */
  visit(claimId: string): boolean {
    if (!this.#tour.locate(claimId)) return false;
    this.#open(RESTING, false);
    this.#remember();
    this.#frame.focus();
    this.#frame.tell({ kind: 'speak', claimId });
    return true;
  }

  /** The finding after the current one, or before it, round and round. */
  step(by: 1 | -1): boolean {
    const next = this.#tour.next(by);
    return next !== null && this.visit(next);
  }

  close(back: boolean): void {
    this.#stay();
    this.#view = RESTING;
    this.#words = null;
    this.#size = null;
    this.#tour.look(null);
    if (back) this.#returnFocus();
    this.#frame.tell({ kind: 'view', view: RESTING, focus: false, room: this.#room });
    this.#place();
  }

  stop(): void {
    this.#stay();
    this.#stop.abort();
    this.#frame.remove();
  }

  /** Whether this is our element on the page. */
  isOwn(node: Node): boolean {
    return this.#frame.is(node);
  }

  #knows(claimId: string): boolean {
    return this.#options.shown().findings.some(({ id }) => id === claimId);
  }

  get #viewport(): Size {
    const { clientWidth, clientHeight } = this.#options.doc.documentElement;
    const view = this.#options.doc.defaultView!;
    return { width: clientWidth || view.innerWidth, height: view.innerHeight || clientHeight };
  }

  get #room(): Size {
    return roomIn(this.#viewport);
  }

  #open(view: View, focus: boolean): void {
    this.#frame.ensure();
    this.#view = view;
    this.#size = null;
    this.#frame.tell({ kind: 'view', view, focus, room: this.#room });
    if (focus) {
      this.#remember();
      this.#frame.focus();
    }
    this.#place();
  }

  #tellFindings(): void {
    const { findings, standing } = this.#options.shown();
    const anchored = this.#options.underlines.claimIds;
    this.#frame.tell({ kind: 'findings', findings: inOrderOf(anchored, findings), standing, anchored });
  }

  #onFrame(message: FromFrame): void {
    switch (message.kind) {
      case 'ready':
        this.#focusWithin = false;
        this.#tellFindings();
        this.recolour();
        // A frame that knows no room takes none, and then the keyboard would lead to a list that nobody sees.
        this.#frame.tell({ kind: 'view', view: this.#view, focus: false, room: this.#room });
        break;
      case 'size':
        this.#size = message.size;
        this.#place();
        break;
      case 'pointer':
        if (message.over) this.#stay();
        else this.#leaveSoon();
        break;
      case 'focus':
        this.#focusWithin = message.within;
        if (!message.within) {
          if (this.#view.kind === 'resting') this.#tour.look(null);
          this.#leaveSoon();
        }
        this.#place();
        break;
      case 'close':
        this.close(message.back);
        break;
      case 'open':
        if (this.#knows(message.claimId)) this.#openPanel(message.claimId);
        break;
      case 'locate':
        this.#tour.locate(message.claimId);
        break;
    }
  }

  /** The page took the frame away, and with it whatever was shown: the next look makes it anew. */
  #onLost(): void {
    this.#stay();
    this.#view = RESTING;
    this.#words = null;
    this.#size = null;
    this.#focusWithin = false;
    this.#tour.look(null);
  }

  #place(): void {
    this.#frame.put(this.#spot());
  }

  #spot(): Spot | null {
    if (this.#size === null) return null;
    const rightToLeft =
      this.#options.doc.defaultView!.getComputedStyle(this.#options.doc.documentElement).direction === 'rtl';
    if (this.#view.kind === 'tooltip')
      return this.#words === null
        ? null
        : besideWords(
            this.#words.box,
            this.#sentence(this.#view.claimId) ?? this.#words.box,
            this.#size,
            this.#viewport,
          );
    return this.#view.kind === 'panel' || this.#focusWithin
      ? inCorner(this.#size, this.#viewport, rightToLeft, this.#view.kind === 'panel' ? this.#explained : null)
      : null;
  }

  #point(x: number, y: number): void {
    const hit = findingAt(this.#options.doc, this.#options.underlines, x, y);
    if (hit === null) {
      if (this.#view.kind === 'tooltip') this.#leaveSoon();
      return;
    }
    if (this.#view.kind === 'panel') return;
    this.#stay();
    if (this.#view.kind === 'tooltip' && this.#view.claimId === hit.claimId) return;
    this.#words = hit;
    this.#open({ kind: 'tooltip', claimId: hit.claimId }, false);
  }

  #stay(): void {
    clearTimeout(this.#leaving);
    this.#leaving = undefined;
  }

  #leaveSoon(): void {
    if (this.#view.kind !== 'tooltip' || this.#leaving !== undefined) return;
    this.#leaving = setTimeout(() => {
      this.#leaving = undefined;
      if (this.#view.kind === 'tooltip' && !this.#focusWithin) this.close(false);
    }, LEAVE_MS);
  }

  #onClick(x: number, y: number, path: readonly EventTarget[], isPlain: boolean): void {
    const { doc, underlines } = this.#options;
    const hit = findingAt(doc, underlines, x, y);
    if (hit === null) {
      if (this.#view.kind === 'panel' && !path.some((node) => this.#frame.is(node))) this.close(false);
    } else if (isPlain) this.#openPanel(hit.claimId);
  }

  #onScroll(): void {
    if (this.#view.kind === 'tooltip') {
      const box = this.#options.underlines.piecesOf(this.#view.claimId)[0]?.range.getClientRects()[0];
      if (box === undefined || !inSight(box, this.#viewport)) this.close(false);
      else this.#words = { claimId: this.#view.claimId, box };
    }
    this.#place();
  }

  /** All lines of a finding. */
  #sentence(claimId: string): Box | null {
    return around(this.#options.underlines.piecesOf(claimId).flatMap(({ range }) => [...range.getClientRects()]));
  }

  #openPanel(claimId: string): void {
    this.#tour.look(claimId);
    this.#explained = this.#sentence(claimId);
    this.#open({ kind: 'panel', claimId }, true);
  }

  #remember(): void {
    const active = this.#options.doc.activeElement;
    if (active !== null && !this.#frame.is(active)) this.#focusBefore = active;
  }

  #returnFocus(): void {
    this.#focusWithin = false;
    this.#frame.blur();
    const before = this.#focusBefore;
    this.#focusBefore = null;
    if (before instanceof HTMLElement && before.isConnected) before.focus({ preventScroll: true });
  }
}

/** The findings in the order of the page; those that have no place there come last. */
function inOrderOf(claimIds: readonly string[], findings: readonly Finding[]): Finding[] {
  const place = new Map(claimIds.map((id, index) => [id, index]));
  const at = ({ id }: Finding): number => place.get(id) ?? claimIds.length;
  return [...findings].sort((one, other) => at(one) - at(other));
}
