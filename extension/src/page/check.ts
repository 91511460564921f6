/**
 * Checks of posts on the pages of a social network, put together.
 *
 * Nothing is done while the page is scrolled: button and card stand in the document and go along by themselves.
 */
import { inView, type Feed } from '../feeds/base';
import type { FramePort } from './frame_channel';
import type { HostElement } from './host_element';
import { PointedPost } from './pointed_post';
import { PostCard, type StartCheck } from './post_card';
import { Debounce } from './watch';

export interface PostChecksOptions {
  readonly doc: Document;
  readonly host: HostElement;
  readonly feed: Feed;
  /** The frame's address without its secret. */
  readonly address: string;
  readonly title: string;
  readonly buttonLabel: string;
  readonly start: StartCheck;
  /** The reader presses the button; `open` opens the card. */
  readonly onPress: (open: () => void) => void;
}

const SETTLE_MS = 100;
const RESTLESS_MS = 500;

export class PostChecks {
  readonly #options: PostChecksOptions;
  readonly #card: PostCard;
  readonly #pointed: PointedPost;
  readonly #settle = new Debounce(() => this.#place());
  /** Whatever moves a post on the page changes the height of all of it. */
  readonly #sizes = new ResizeObserver(() => this.touch());
  #listening: AbortController | null = null;

  constructor(options: PostChecksOptions) {
    const { doc, host, feed, address, title, buttonLabel, start, onPress } = options;
    this.#options = options;
    this.#card = new PostCard(doc, host, feed, address, title, start);
    this.#pointed = new PointedPost(doc, host, feed, buttonLabel, (found) => onPress(() => this.#card.open(found)));
  }

  /** Listen to the page. */
  start(): void {
    if (this.#listening !== null) return;
    this.#listening = new AbortController();
    const { doc } = this.#options;
    const { signal } = this.#listening;
    this.#pointed.listen(signal);
    doc.addEventListener(
      'keydown',
      ({ isTrusted, key }) => {
        if (!isTrusted || key !== 'Escape') return;
        if (this.#card.isOpen) this.#card.escape();
        else this.#pointed.dismiss();
      },
      { passive: true, capture: true, signal },
    );
    this.#sizes.observe(doc.body);
  }

  stop(): void {
    this.#listening?.abort();
    this.#listening = null;
    this.#sizes.disconnect();
    this.#settle.cancel();
    this.#card.close(false);
  }

  /** Take the port that a frame opened; false if it is not from ours. */
  accept(port: FramePort): boolean {
    return this.#card.accept(port);
  }

  /** Check the post that the reader looks at; false if there is none. */
  checkInView(): boolean {
    const found = this.#listening === null ? null : inView(this.#options.feed, this.#options.doc);
    if (found !== null) this.#card.open(found);
    return found !== null;
  }

  /** The page changed: posts may be elsewhere, or others. */
  touch(): void {
    if (this.#card.isOpen || this.#pointed.isShown) this.#settle.schedule(SETTLE_MS, RESTLESS_MS);
  }

  #place(): void {
    this.#pointed.place();
    this.#card.place();
  }
}
