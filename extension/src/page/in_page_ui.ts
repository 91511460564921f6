/**
 * From what a reader does to what the in-page frame shows: hovering, clicking, keys, and the frame's messages.
 *
 * `gestures.ts` observes the page, `navigation.ts` moves between findings, `frame_channel.ts` sends to the frame; this file
 * decides what is shown. What appears on hover can be reached with the pointer, closed with Escape,
 * and stays until the pointer leaves both (WCAG 1.4.13).
 */
import { placeBesideSentence, placeInCorner, isOnScreen, availableSize, type Box, type Placement } from './geometry';
import { HIDDEN_VIEW, type FromFrame, type Size, type FrameView } from './frame_messages';
import { FrameChannel, type FramePort } from './frame_channel';
import { backgroundTone } from './background_tone';
import { sortByPosition } from './displayed_findings';
import type { Underlines } from './highlights';
import { listen } from './gestures';
import type { HostElement } from './host_element';
import { findingAt, type Hit } from './hit';
import type { DisplayedFindings } from './ports';
import { FindingNavigation } from './navigation';
import { isRightToLeft, SavedFocus, sentenceBox, viewportOf } from './page_state';

export interface InPageUiOptions {
  readonly doc: Document;
  readonly host: HostElement;
  /** The frame's address without its secret. */
  readonly address: string;
  readonly title: string;
  readonly underlines: Underlines;
  shown(): DisplayedFindings;
  /** The post's element, whose background decides the tone. */
  root(): Element | null;
}

/** Time for the pointer to get from the words to the tooltip. */
const LEAVE_MS = 300;

export class InPageUi {
  readonly #options: InPageUiOptions;
  readonly #channel: FrameChannel;
  readonly #navigation: FindingNavigation;
  readonly #focus: SavedFocus;
  readonly #stop = new AbortController();
  #view: FrameView = HIDDEN_VIEW;
  #size: Size | null = null;
  #hit: Hit | null = null;
  /** Where the words of the panel stood as it opened: it does not jump while the page is scrolled under it. */
  #panelSentence: Box | null = null;
  #focusWithin = false;
  #leaving: ReturnType<typeof setTimeout> | undefined;

  constructor(options: InPageUiOptions) {
    this.#options = options;
    this.#navigation = new FindingNavigation(options.doc, options.underlines);
    this.#focus = new SavedFocus(options.host);
    this.#channel = new FrameChannel(
      options.host,
      options.address,
      options.title,
      (message) => this.#onFrameMessage(message),
      () => this.#onLost(),
    );
  }

  /** Listen to the page. */
  start(): void {
    listen(
      this.#options.doc,
      {
        isNeeded: () => this.#options.underlines.claimIds.length > 0,
        onPointerMove: (x, y) => this.#onPointerMove(x, y),
        onPointerLeave: () => this.#leaveSoon(),
        onClick: (click) => this.#onClick(click.x, click.y, click.path, click.isPlain),
        onEscape: () => {
          if (this.#view.kind !== 'hidden') this.close(false);
        },
        // A reader who uses the keyboard must find the list on the way; it is read, not seen, until the focus is in it.
        onTab: () => {
          if (this.#options.shown().findings.length > 0) this.#channel.ensure();
        },
        onScroll: () => this.#onScroll(),
        onResize: () => {
          if (this.#channel.ready) this.#sendView(false);
          this.#onScroll();
        },
      },
      this.#stop.signal,
    );
  }

  /** Take the port that a frame opened; false if it is not from ours. */
  accept(port: FramePort): boolean {
    return this.#channel.accept(port);
  }

  /** The findings or their underlines have changed. */
  refresh(): void {
    if (this.#options.shown().findings.length === 0) {
      if (this.#focusWithin) this.#focus.restore();
      this.#channel.remove();
      this.#onLost();
      return;
    }
    if (this.#view.kind !== 'hidden' && !this.#hasFinding(this.#view.claimId)) this.close(false);
    if (this.#channel.ready) this.#sendFindings();
  }

  /** The background may have another colour now. */
  updateTone(): void {
    if (this.#options.shown().findings.length === 0) return;
    const tone = backgroundTone(this.#options.root());
    this.#options.underlines.setTone(tone);
    if (this.#channel.ready) this.#channel.send({ kind: 'tone', tone });
  }

  /** Scroll to a finding and put the focus on it in the list, so that it is read out; false if it is not on the page. */
  visit(claimId: string): boolean {
    if (!this.#navigation.locate(claimId)) return false;
    this.#open(HIDDEN_VIEW, false);
    this.#focus.save();
    this.#channel.focus();
    this.#channel.send({ kind: 'speak', claimId });
    return true;
  }

  /** The finding after the current one, or before it, wrapping around. */
  step(by: 1 | -1): boolean {
    const next = this.#navigation.next(by);
    return next !== null && this.visit(next);
  }

  close(back: boolean): void {
    this.#cancelLeave();
    this.#view = HIDDEN_VIEW;
    this.#hit = null;
    this.#size = null;
    this.#navigation.look(null);
    if (back) {
      this.#focusWithin = false;
      this.#channel.blur();
      this.#focus.restore();
    }
    this.#sendView(false);
    this.#place();
  }

  stop(): void {
    this.#cancelLeave();
    this.#stop.abort();
    this.#channel.remove();
  }

  /** Whether this is our element on the page. */
  isOwn(node: Node): boolean {
    return this.#channel.owns(node);
  }

  #hasFinding(claimId: string): boolean {
    return this.#options.shown().findings.some(({ id }) => id === claimId);
  }

  #open(view: FrameView, focus: boolean): void {
    this.#channel.ensure();
    this.#view = view;
    this.#size = null;
    this.#sendView(focus);
    if (focus) {
      this.#focus.save();
      this.#channel.focus();
    }
    this.#place();
  }

  #sendView(focus: boolean): void {
    const room = availableSize(viewportOf(this.#options.doc));
    this.#channel.send({ kind: 'view', view: this.#view, focus, room });
  }

  #sendFindings(): void {
    const { findings, info } = this.#options.shown();
    const anchored = this.#options.underlines.claimIds;
    this.#channel.send({ kind: 'findings', findings: sortByPosition(anchored, findings), info, anchored });
  }

  #onFrameMessage(message: FromFrame): void {
    switch (message.kind) {
      case 'ready':
        this.#focusWithin = false;
        this.#sendFindings();
        this.updateTone();
        // Without a stated room the frame takes none, and the keyboard would lead to a list that cannot be seen.
        this.#sendView(false);
        break;
      case 'size':
        this.#size = message.size;
        this.#place();
        break;
      case 'pointer':
        if (message.over) this.#cancelLeave();
        else this.#leaveSoon();
        break;
      case 'focus':
        this.#focusWithin = message.within;
        if (!message.within) {
          if (this.#view.kind === 'hidden') this.#navigation.look(null);
          this.#leaveSoon();
        }
        this.#place();
        break;
      case 'close':
        this.close(message.back);
        break;
      case 'open':
        if (this.#hasFinding(message.claimId)) this.#openPanel(message.claimId);
        break;
      case 'locate':
        this.#navigation.locate(message.claimId);
        break;
    }
  }

  /** The frame is gone, and with it whatever was shown: the next use creates it again. */
  #onLost(): void {
    this.#cancelLeave();
    this.#view = HIDDEN_VIEW;
    this.#hit = null;
    this.#size = null;
    this.#focusWithin = false;
    this.#navigation.look(null);
  }

  #place(): void {
    this.#channel.place(this.#placement());
  }

  #placement(): Placement | null {
    if (this.#size === null) return null;
    const { doc, underlines } = this.#options;
    const viewport = viewportOf(doc);
    if (this.#view.kind === 'tooltip')
      return this.#hit === null
        ? null
        : placeBesideSentence(
            this.#hit.box,
            sentenceBox(underlines, this.#view.claimId) ?? this.#hit.box,
            this.#size,
            viewport,
          );
    return this.#view.kind === 'panel' || this.#focusWithin
      ? placeInCorner(
          this.#size,
          viewport,
          isRightToLeft(doc),
          this.#view.kind === 'panel' ? this.#panelSentence : null,
        )
      : null;
  }

  #onPointerMove(x: number, y: number): void {
    const hit = findingAt(this.#options.doc, this.#options.underlines, x, y);
    if (hit === null) {
      if (this.#view.kind === 'tooltip') this.#leaveSoon();
      return;
    }
    if (this.#view.kind === 'panel') return;
    this.#cancelLeave();
    if (this.#view.kind === 'tooltip' && this.#view.claimId === hit.claimId) return;
    this.#hit = hit;
    this.#open({ kind: 'tooltip', claimId: hit.claimId }, false);
  }

  #cancelLeave(): void {
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
      if (this.#view.kind === 'panel' && !path.some((node) => this.#channel.owns(node))) this.close(false);
    } else if (isPlain) this.#openPanel(hit.claimId);
  }

  #onScroll(): void {
    if (this.#view.kind === 'tooltip') {
      const box = this.#options.underlines.piecesOf(this.#view.claimId)[0]?.range.getClientRects()[0];
      if (box === undefined || !isOnScreen(box, viewportOf(this.#options.doc))) this.close(false);
      else this.#hit = { claimId: this.#view.claimId, box };
    }
    this.#place();
  }

  #openPanel(claimId: string): void {
    this.#navigation.look(claimId);
    this.#panelSentence = sentenceBox(this.#options.underlines, claimId);
    this.#open({ kind: 'panel', claimId }, true);
  }
}
