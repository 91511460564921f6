/**
 * The post under the pointer or the focus, and the button beside it (WCAG 1.4.13): the pointer reaches the button, Escape puts it
 * away until another post is pointed at, and it stays as long as pointer or focus do.
 */
import type { Feed, Post, Unreadable } from '../feeds/base';
import { backgroundTone } from './background_tone';
import { placeButton } from './geometry';
import type { HostElement } from './host_element';
import { isRightToLeft, viewportOf } from './page_state';
import { BUTTON_PX, PostButton } from './post_button';

/** Time for the pointer to get from a post to its button. */
const LEAVE_MS = 400;

export class PointedPost {
  readonly #doc: Document;
  readonly #host: HostElement;
  readonly #feed: Feed;
  readonly #button: PostButton;
  /** Sees that the post was scrolled away, so that nothing has to be done while the page is scrolled. */
  readonly #seen = new IntersectionObserver((entries) => {
    if (entries.at(-1)?.isIntersecting === false) this.set(null);
  });
  #found: Post | Unreadable | null = null;
  /** The reader put the button of this post away. */
  #isDismissed = false;
  #leaving: ReturnType<typeof setTimeout> | undefined;

  /** `onPress` follows a press of the button by the reader. */
  constructor(
    doc: Document,
    host: HostElement,
    feed: Feed,
    label: string,
    onPress: (found: Post | Unreadable) => void,
  ) {
    this.#doc = doc;
    this.#host = host;
    this.#feed = feed;
    this.#button = new PostButton(host, label, () => {
      // The page may have put another post here since.
      const found = this.#found?.element.isConnected === true ? this.#feed.at(this.#found.element) : null;
      if (found !== null) onPress(found);
    });
  }

  get isShown(): boolean {
    return this.#found !== null;
  }

  /** Follow pointer and focus until `signal` aborts; events that a page's script made are ignored. */
  listen(signal: AbortSignal): void {
    const quietly = { passive: true, capture: true, signal } as const;
    const look = ({ isTrusted, target }: Event): void => {
      if (isTrusted && target instanceof Node) this.#pointAt(target);
    };
    this.#doc.addEventListener('pointerover', (event) => event.pointerType !== 'touch' && look(event), quietly);
    this.#doc.addEventListener('focusin', look, quietly);
    signal.addEventListener('abort', () => this.set(null));
  }

  /** Put the button where the post is now; a post that is another one loses it. */
  place(): void {
    if (this.#found === null || this.#isDismissed) return;
    const { element } = this.#found;
    const box = element.getBoundingClientRect();
    if (box.height === 0) this.set(null);
    else {
      const place = placeButton(box, BUTTON_PX, viewportOf(this.#doc), isRightToLeft(this.#doc));
      this.#button.show(place, backgroundTone(element));
    }
  }

  /** Put the button away while the pointer stays where it is. */
  dismiss(): void {
    this.#isDismissed = true;
    this.#button.hide();
  }

  set(found: Post | Unreadable | null): void {
    this.#stay();
    this.#isDismissed = false;
    this.#found = found;
    this.#seen.disconnect();
    if (found === null) this.#button.hide();
    else {
      this.#seen.observe(found.element);
      this.place();
    }
  }

  #pointAt(node: Node): void {
    if (this.#host.owns(node) || this.#found?.element.contains(node) === true) {
      this.#stay();
      return;
    }
    const found = this.#feed.at(node);
    if (found !== null) this.set(found);
    else if (this.#found !== null) this.#leaving ??= setTimeout(() => this.#leave(), LEAVE_MS);
  }

  /** The pointer left; the focus may still be at a post. */
  #leave(): void {
    const { activeElement } = this.#doc;
    const found = activeElement?.matches(':focus-visible') === true ? this.#feed.at(activeElement) : null;
    if (found !== null && found.element === this.#found?.element) this.#stay();
    else this.set(found);
  }

  #stay(): void {
    clearTimeout(this.#leaving);
    this.#leaving = undefined;
  }
}
