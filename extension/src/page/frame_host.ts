/** A frame of the extension in a box on the page. It is made when a reader first needs it. */
import type { Placement } from './geometry';
import type { HostElement } from './host_element';

/** `window`: the box stays where it is when the page is scrolled. `document`: it goes along. */
export type Anchor = 'window' | 'document';

const SHOWN_STYLE = 'overflow:hidden;border-radius:10px;box-shadow:0 4px 24px rgb(0 0 0 / 35%);pointer-events:auto;';
const RESTING_STYLE =
  'position:fixed;overflow:hidden;width:1px;height:1px;inset:auto auto 0 0;clip-path:inset(50%);pointer-events:none;';
const FRAME_STYLE = 'display:block;border:0;';

export class FrameHost {
  readonly #host: HostElement;
  readonly #address: string;
  readonly #title: string;
  #box: HTMLElement | null = null;
  #frame: HTMLIFrameElement | null = null;

  /** `address` is the frame's, `title` its name for a screen reader. */
  constructor(host: HostElement, address: string, title: string) {
    this.#host = host;
    this.#address = address;
    this.#title = title;
  }

  /** True when the frame had to be made, so that messages to an earlier one are void. */
  ensure(): boolean {
    if (this.#box?.isConnected === true) return false;
    this.remove();
    const box = this.#host.create('div');
    const frame = this.#host.create('iframe');
    frame.title = this.#title;
    frame.src = this.#address;
    box.append(frame);
    this.#host.add(box);
    this.#box = box;
    this.#frame = frame;
    this.place(null);
    return true;
  }

  /** Whether `node` is the element on the page. */
  owns(node: unknown): boolean {
    return this.#host.owns(node);
  }

  /** Show the frame at a place in the window, or keep it there for assistive technology only. */
  place(spot: Placement | null, anchor: Anchor = 'window'): void {
    if (this.#box === null || this.#frame === null) return;
    if (spot === null) {
      this.#box.style.cssText = RESTING_STYLE;
      this.#frame.style.cssText = `${FRAME_STYLE}width:320px;height:240px;`;
      return;
    }
    const { width, height } = spot;
    const from = anchor === 'window' ? { left: 0, top: 0 } : this.#host.origin();
    const position = `position:${anchor === 'window' ? 'fixed' : 'absolute'};left:${spot.left - from.left}px;top:${spot.top - from.top}px;`;
    this.#box.style.cssText = `${position}${SHOWN_STYLE}width:${width}px;height:${height}px;`;
    this.#frame.style.cssText = `${FRAME_STYLE}width:100%;height:100%;`;
  }

  focus(): void {
    this.#frame?.focus({ preventScroll: true });
  }

  blur(): void {
    this.#frame?.blur();
  }

  remove(): void {
    if (this.#box !== null) this.#host.remove(this.#box);
    this.#box = null;
    this.#frame = null;
  }
}
