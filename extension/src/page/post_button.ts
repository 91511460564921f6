/**
 * The button beside the post under the pointer or the focus, in document coordinates.
 *
 * It carries a picture and no word. Only a click that a person made counts, since a check costs the reader money.
 */
import type { HostElement } from './host_element';
import type { Tone } from './highlights';

export const BUTTON_PX = 32;
const BOX =
  `position:absolute;box-sizing:border-box;width:${BUTTON_PX}px;height:${BUTTON_PX}px;margin:0;padding:0;display:grid;` +
  'place-items:center;border-radius:50%;cursor:pointer;pointer-events:auto;font:700 18px/1 system-ui,sans-serif;';
const TONES: Readonly<Record<Tone, string>> = {
  light: 'background:#fff;color:#0b57d0;border:1px solid #8a8a94;outline-color:#0b57d0;',
  dark: 'background:#1f2024;color:#8ab4f8;border:1px solid #8a8b96;outline-color:#8ab4f8;',
};
const SVG = 'http://www.w3.org/2000/svg';
/** A magnifying glass with a tick in it. */
const PATH = 'M10 3a7 7 0 1 0 4.4 12.4l4.6 4.6 1.4-1.4-4.6-4.6A7 7 0 0 0 10 3Zm-3.2 7.1 2.3 2.3 4.2-4.6';

export class PostButton {
  readonly #host: HostElement;
  readonly #label: string;
  readonly #onPress: () => void;
  #button: HTMLButtonElement | null = null;

  /** `label` is what a screen reader says, `onPress` follows a press by the reader. */
  constructor(host: HostElement, label: string, onPress: () => void) {
    this.#host = host;
    this.#label = label;
    this.#onPress = onPress;
  }

  /** Show it at a place in the window. */
  show({ left, top }: { readonly left: number; readonly top: number }, tone: Tone): void {
    if (this.#button?.isConnected !== true) this.#button = this.#make();
    const from = this.#host.origin();
    this.#button.style.cssText = `${BOX}${TONES[tone]}left:${left - from.left}px;top:${top - from.top}px;`;
  }

  hide(): void {
    if (this.#button !== null) this.#host.remove(this.#button);
    this.#button = null;
  }

  #make(): HTMLButtonElement {
    const button = this.#host.create('button');
    button.type = 'button';
    button.ariaLabel = this.#label;
    button.title = this.#label;
    const picture = button.ownerDocument.createElementNS(SVG, 'svg');
    picture.setAttribute('viewBox', '0 0 24 24');
    picture.setAttribute('width', '20');
    picture.setAttribute('aria-hidden', 'true');
    const path = button.ownerDocument.createElementNS(SVG, 'path');
    for (const [name, value] of Object.entries({ d: PATH, fill: 'none', stroke: 'currentColor', 'stroke-width': '2' }))
      path.setAttribute(name, value);
    picture.append(path);
    button.append(picture);
    button.addEventListener('click', (event) => {
      event.stopPropagation();
      if (event.isTrusted) this.#onPress();
    });
    this.#host.add(button);
    return button;
  }
}
