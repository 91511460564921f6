/**
 * From what a reader does to what the in-page frame shows: hovering, clicking, keys, and the frame's own word.
 *
 * Only events that a person made count; a page's script cannot open anything. No event is stopped or changed: the page's own
 * links, shortcuts and selections go on working. What appears on hover can be reached with the pointer, closed with Escape,
 * and stays until the pointer leaves both (WCAG 1.4.13).
 */
import { around, besideWords, inCorner, inSight, roomIn, type Box, type Spot } from './geometry';
import { RESTING, type Finding, type FromFrame, type Size, type View } from './frame_messages';
import { Framed, type FramePort } from './framed';
import { groundOf } from './ground';
import type { Underlines } from './highlights';
import { findingAt, type Hit } from './hit';
import type { Shown } from './ports';

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
const INTERACTIVE = 'a[href], button, input, select, textarea, label, summary, [contenteditable], [role="button"], [role="link"]';

export class Interface {
  readonly #options: InterfaceOptions;
  readonly #frame: Framed;
  readonly #stop = new AbortController();
  #view: View = RESTING;
  #size: Size | null = null;
  #words: Hit | null = null;
  /** Where the words of the panel stood as it opened: it does not jump while the page is scrolled under it. */
  #explained: Box | null = null;
  #focusWithin = false;
  #leaving: ReturnType<typeof setTimeout> | undefined;
  #paintRequested = 0;
  #pointer: { x: number; y: number } | null = null;
  #focusBefore: Element | null = null;
  /** The finding that next and previous count from; it outlives the look at it. */
  #currentId: string | null = null;

  constructor(options: InterfaceOptions) {
    this.#options = options;
    this.#frame = new Framed(options.doc, options.address, options.title, (message) => this.#onFrame(message), () => this.#onLost());
  }

  /** Listen to the page. */
  start(): void {
    const { doc } = this.#options;
    const view = doc.defaultView!;
    const { signal } = this.#stop;
    const quietly = { passive: true, capture: true, signal } as const;
    view.addEventListener('pointermove', (event) => this.#onMove(event), quietly);
    view.addEventListener('click', (event) => this.#onClick(event), quietly);
    view.addEventListener('keydown', (event) => this.#onKey(event), quietly);
    view.addEventListener('scroll', () => this.#onScroll(), quietly);
    view.addEventListener('resize', () => this.#onScroll(), quietly);
    doc.documentElement.addEventListener('pointerleave', () => this.#leaveSoon(), { passive: true, signal });
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
    if (!this.#locate(claimId)) return false;
    this.#open(RESTING, false);
    this.#remember();
    this.#frame.focus();
    this.#frame.tell({ kind: 'speak', claimId });
    return true;
  }

  /** The finding after the current one, or before it, round and round. */
  step(by: 1 | -1): boolean {
    const ids = this.#options.underlines.claimIds;
    if (ids.length === 0) return false;
    const at = ids.indexOf(this.#currentId ?? '');
    const next = at === -1 ? (by === 1 ? 0 : ids.length - 1) : (at + by + ids.length) % ids.length;
    return this.visit(ids[next]!);
  }

  close(back: boolean): void {
    this.#stay();
    this.#view = RESTING;
    this.#words = null;
    this.#size = null;
    this.#setCurrent(null);
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
          if (this.#view.kind === 'resting') this.#setCurrent(null);
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
        this.#locate(message.claimId);
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
    this.#setCurrent(null);
  }

  #place(): void {
    this.#frame.put(this.#spot());
  }

  #spot(): Spot | null {
    if (this.#size === null) return null;
    const rightToLeft = this.#options.doc.defaultView!.getComputedStyle(this.#options.doc.documentElement).direction === 'rtl';
    if (this.#view.kind === 'tooltip')
      return this.#words === null
        ? null
        : besideWords(this.#words.box, this.#sentence(this.#view.claimId) ?? this.#words.box, this.#size, this.#viewport);
    return this.#view.kind === 'panel' || this.#focusWithin
      ? inCorner(this.#size, this.#viewport, rightToLeft, this.#view.kind === 'panel' ? this.#explained : null)
      : null;
  }

  #onMove(event: PointerEvent): void {
    if (!event.isTrusted || event.pointerType === 'touch') return;
    this.#pointer = { x: event.clientX, y: event.clientY };
    if (this.#paintRequested !== 0 || this.#options.underlines.claimIds.length === 0) return;
    this.#paintRequested = requestAnimationFrame(() => {
      this.#paintRequested = 0;
      if (this.#pointer !== null) this.#point(this.#pointer.x, this.#pointer.y);
    });
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

  #onClick(event: MouseEvent): void {
    if (!event.isTrusted || event.button !== 0 || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const { doc, underlines } = this.#options;
    const hit = findingAt(doc, underlines, event.clientX, event.clientY);
    if (hit === null) {
      if (this.#view.kind === 'panel' && !event.composedPath().some((node) => this.#frame.is(node))) this.close(false);
      return;
    }
    const onControl = event.composedPath().some((node) => node instanceof Element && node.matches(INTERACTIVE));
    if (!onControl && doc.getSelection()?.isCollapsed !== false) this.#openPanel(hit.claimId);
  }

  #onKey(event: KeyboardEvent): void {
    if (!event.isTrusted) return;
    if (event.key === 'Escape' && this.#view.kind !== 'resting') this.close(false);
    // A reader who uses the keyboard must find the list on the way; it is read, not seen, until the focus is in it.
    if (event.key === 'Tab' && this.#options.shown().findings.length > 0) this.#frame.ensure();
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
    this.#setCurrent(claimId);
    this.#explained = this.#sentence(claimId);
    this.#open({ kind: 'panel', claimId }, true);
  }

  #locate(claimId: string): boolean {
    const piece = this.#options.underlines.piecesOf(claimId)[0];
    const element = piece?.node.parentElement;
    if (piece === undefined || element == null) return false;
    this.#setCurrent(claimId);
    const box = piece.range.getBoundingClientRect();
    const viewport = this.#viewport;
    if (box.top < 0 || box.bottom > viewport.height) {
      const calm = this.#options.doc.defaultView!.matchMedia('(prefers-reduced-motion: reduce)').matches;
      element.scrollIntoView({ block: 'center', behavior: calm ? 'instant' : 'smooth' });
    }
    return true;
  }

  #setCurrent(claimId: string | null): void {
    this.#currentId = claimId ?? this.#currentId;
    this.#options.underlines.setCurrent(claimId);
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
