/**
 * The one element that is ever added to a page, and the frame inside it.
 *
 * The element stands under `<html>`, where a page that re-renders its whole document leaves it alone, and is only added
 * when a reader first points at a finding or uses the keyboard. It is a plain `div`, which no page can define as its own
 * element. Its shadow root is closed, but that does not hide it: a page's script can read text in it by searching for it. So no
 * word of ours is in it; words are in the frame, which is a document of the extension.
 */
import type { Placement } from './geometry';

// Set as properties, not as a style sheet, which a page's security policy might refuse.
const ELEMENT_STYLE =
  'all:initial!important;position:fixed!important;inset:0 auto auto 0!important;display:block!important;width:0!important;' +
  'height:0!important;z-index:2147483647!important;pointer-events:none!important';
const BOX_STYLE = 'position:fixed;overflow:hidden;';
const SHOWN_STYLE = `${BOX_STYLE}border-radius:10px;box-shadow:0 4px 24px rgb(0 0 0 / 35%);pointer-events:auto;`;
const RESTING_STYLE = `${BOX_STYLE}width:1px;height:1px;inset:auto auto 0 0;clip-path:inset(50%);pointer-events:none;`;
const FRAME_STYLE = 'display:block;border:0;';

export class FrameHost {
  readonly #doc: Document;
  readonly #address: string;
  readonly #title: string;
  #element: HTMLElement | null = null;
  #box: HTMLElement | null = null;
  #frame: HTMLIFrameElement | null = null;

  /** `address` is the frame's, `title` its name for a screen reader. */
  constructor(doc: Document, address: string, title: string) {
    this.#doc = doc;
    this.#address = address;
    this.#title = title;
  }

  /** True when the frame had to be made, so that messages to an earlier one are void. */
  ensure(): boolean {
    if (this.#element?.isConnected === true) return false;
    this.remove();
    const element = this.#doc.createElement('div');
    const root = element.attachShadow({ mode: 'closed' });
    element.style.cssText = ELEMENT_STYLE;
    const box = this.#doc.createElement('div');
    const frame = this.#doc.createElement('iframe');
    frame.title = this.#title;
    frame.src = this.#address;
    box.append(frame);
    root.append(box);
    this.#doc.documentElement.append(element);
    this.#element = element;
    this.#box = box;
    this.#frame = frame;
    this.place(null);
    return true;
  }

  /** Whether `node` is the element on the page. */
  owns(node: unknown): boolean {
    return node !== null && node === this.#element;
  }

  /** Show the frame at a place, or keep it there for assistive technology only. */
  place(spot: Placement | null): void {
    if (this.#box === null || this.#frame === null) return;
    if (spot === null) {
      this.#box.style.cssText = RESTING_STYLE;
      this.#frame.style.cssText = `${FRAME_STYLE}width:320px;height:240px;`;
      return;
    }
    const { left, top, width, height } = spot;
    this.#box.style.cssText = `${SHOWN_STYLE}left:${left}px;top:${top}px;width:${width}px;height:${height}px;`;
    this.#frame.style.cssText = `${FRAME_STYLE}width:100%;height:100%;`;
  }

  focus(): void {
    this.#frame?.focus({ preventScroll: true });
  }

  blur(): void {
    this.#frame?.blur();
  }

  remove(): void {
    this.#element?.remove();
    this.#element = null;
    this.#box = null;
    this.#frame = null;
  }
}
