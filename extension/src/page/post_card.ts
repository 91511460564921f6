/**
 * The card under a post: one at a time, and gone with its page.
 *
 * A post keeps its card by its permalink, and its verdict as long as it says the same. A list that reuses its elements hides the card, and the post brings it back.
 */
import { findPost, isReadable, isShown, type Feed, type Post, type Unreadable } from '../feeds/base';
import type { Out } from '../verdict/check';
import { backgroundTone } from './background_tone';
import { apply, ASKING, unreadable, type CheckState } from './check_state';
import { FrameChannel, type FramePort } from './frame_channel';
import type { FromFrame } from './frame_messages';
import { placeUnder } from './geometry';
import type { HostElement } from './host_element';
import { SavedFocus, viewportOf } from './page_state';

/** Start a check; the result cancels it. */
export type StartCheck = (post: Post, onMessage: (out: Out) => void) => () => void;

interface Shown {
  found: Post | Unreadable;
  /** What names the element, also where its words cannot be read. */
  readonly permalink: string | null;
  /** What was checked; null where nothing can be. */
  readonly checked: string | null;
  state: CheckState;
  /** Null once the check has ended. */
  cancel: (() => void) | null;
  /** The height that the card needs, in CSS pixels; 0 until it is known. */
  height: number;
  /** The width that the card was given, in CSS pixels. */
  width: number;
}

export class PostCard {
  readonly #doc: Document;
  readonly #feed: Feed;
  readonly #start: StartCheck;
  readonly #channel: FrameChannel;
  readonly #focus: SavedFocus;
  /** Finished checks of this page, by what was checked. */
  readonly #finished = new Map<string, CheckState>();
  #shown: Shown | null = null;

  /** `address` is the frame's without its secret. */
  constructor(doc: Document, host: HostElement, feed: Feed, address: string, title: string, start: StartCheck) {
    this.#doc = doc;
    this.#feed = feed;
    this.#start = start;
    this.#focus = new SavedFocus(host);
    this.#channel = new FrameChannel(
      host,
      address,
      title,
      (message) => this.#onMessage(message),
      () => this.close(false),
    );
  }

  get isOpen(): boolean {
    return this.#shown !== null;
  }

  /** Take the port that a frame opened; false if it is not from ours. */
  accept(port: FramePort): boolean {
    return this.#channel.accept(port);
  }

  /** Show the card of a post, and check the post unless that has begun. The focus goes to the card. */
  open(found: Post | Unreadable): void {
    const shown = this.#shown;
    if (shown !== null && shown.checked !== null && shown.checked === identify(found)) {
      shown.found = found;
      this.place();
    } else this.#begin(found);
    this.#focus.save();
    this.#channel.focus();
    this.#channel.send({ kind: 'enter' });
  }

  /** Escape: stop the check, or put away the card of one that has ended. */
  escape(): void {
    if (this.#shown?.cancel != null) this.#cancel(this.#shown);
    else this.close(false);
  }

  /** Put the card away and stop its check; `back` returns the focus to the page. */
  close(back: boolean): void {
    this.#shown?.cancel?.();
    this.#shown = null;
    this.#channel.remove();
    if (back) this.#focus.restore();
  }

  /** Put the card under its post as the page is now, or out of sight where the post is gone. */
  place(): void {
    const shown = this.#shown;
    if (shown === null) return;
    const { permalink } = shown;
    const isAt = ({ element }: Post | Unreadable): boolean =>
      isShown(element) && this.#feed.permalinkOf(element) === permalink;
    if (permalink !== null && !isAt(shown.found))
      shown.found = findPost(this.#feed, this.#doc, permalink) ?? shown.found;
    const { element } = shown.found;
    const isThere = isAt(shown.found);
    const spot = placeUnder(element.getBoundingClientRect(), shown.height, viewportOf(this.#doc));
    if (isThere && spot.width !== shown.width) this.#send(shown, spot.width);
    this.#channel.place(isThere && shown.height > 0 ? spot : null, 'document');
  }

  #begin(found: Post | Unreadable): void {
    this.#shown?.cancel?.();
    const checked = identify(found);
    const finished = isReadable(found) ? this.#finished.get(checked!) : unreadable(found.reason);
    const permalink = this.#feed.permalinkOf(found.element);
    const shown: Shown = { found, permalink, checked, state: finished ?? ASKING, cancel: null, height: 0, width: 0 };
    this.#shown = shown;
    if (finished === undefined && isReadable(found))
      shown.cancel = this.#start(found, (out) => this.#receive(shown, out));
    this.#channel.ensure();
    this.place();
  }

  #receive(shown: Shown, out: Out): void {
    shown.state = apply(shown.state, out);
    if (shown.state.ended !== null) shown.cancel = null;
    if (out.at === 'done') this.#finished.set(shown.checked!, shown.state);
    if (this.#shown === shown) this.#send(shown);
  }

  #cancel(shown: Shown): void {
    shown.cancel?.();
    shown.cancel = null;
    shown.state = apply(shown.state, { at: 'cancelled' });
    this.#send(shown);
  }

  #onMessage(message: FromFrame): void {
    const shown = this.#shown;
    if (shown === null) return;
    switch (message.kind) {
      case 'ready':
        this.#send(shown);
        break;
      case 'size':
        shown.height = message.size.height;
        this.place();
        break;
      case 'cancel':
        this.#cancel(shown);
        break;
      case 'close':
        this.close(message.back);
        break;
      case 'again': {
        if (shown.state.ended === null) break;
        if (shown.checked !== null) this.#finished.delete(shown.checked);
        // What is checked is what stands there now.
        this.#begin(this.#feed.at(shown.found.element) ?? shown.found);
      }
    }
  }

  #send(shown: Shown, width = shown.width): void {
    shown.width = width;
    this.#channel.send({ kind: 'tone', tone: backgroundTone(shown.found.element) });
    this.#channel.send({ kind: 'check', check: shown.state, width });
  }
}

/** Identifies a post together with its words; null for an unreadable one. */
function identify(found: Post | Unreadable): string | null {
  return isReadable(found) ? `${found.permalink} ${found.words}` : null;
}
