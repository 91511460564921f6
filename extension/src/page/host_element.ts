/**
 * The one element that is ever added to a page; everything of ours on it is a box in here.
 *
 * It stands under `<html>`, where a page that re-renders its whole document leaves it alone, and is only there while it
 * has a box. It is a plain `div`, which no page can define as its own element. Its shadow root is closed, but that does
 * not hide it: a page's script can read text in it by searching for it. So no word of ours is in it; words are in frames,
 * which are documents of the extension.
 */

// Set as properties, not as a style sheet, which a page's security policy might refuse.
const STYLE =
  'all:initial!important;position:absolute!important;inset:0 auto auto 0!important;display:block!important;width:0!important;' +
  'height:0!important;z-index:2147483647!important;pointer-events:none!important';

export class HostElement {
  readonly #doc: Document;
  #element: HTMLElement | null = null;
  #root: ShadowRoot | null = null;

  constructor(doc: Document) {
    this.#doc = doc;
    // On paper a box that is fixed to the window stands on every sheet, over the words of the page.
    doc.defaultView?.addEventListener('beforeprint', () => this.#setVisible(false));
    doc.defaultView?.addEventListener('afterprint', () => this.#setVisible(true));
  }

  /** Make an element for a box. */
  create<K extends keyof HTMLElementTagNameMap>(name: K): HTMLElementTagNameMap[K] {
    return this.#doc.createElement(name);
  }

  /** Show a box, also where the page took the element away. */
  add(box: HTMLElement): void {
    if (this.#element?.isConnected !== true) {
      const element = this.create('div');
      this.#root = element.attachShadow({ mode: 'closed' });
      element.style.cssText = STYLE;
      this.#doc.documentElement.append(element);
      this.#element = element;
    }
    this.#root?.append(box);
  }

  /** Take a box away, with the last one the element itself. */
  remove(box: HTMLElement): void {
    box.remove();
    if (this.#root?.childElementCount !== 0) return;
    this.#element?.remove();
    this.#element = this.#root = null;
  }

  /** Where it stands in the window; boxes that go along with the page are placed from there. */
  origin(): { readonly left: number; readonly top: number } {
    return this.#element?.getBoundingClientRect() ?? { left: 0, top: 0 };
  }

  /** What has the focus, also in here; null where that is a frame. */
  get focused(): Element | null {
    const { activeElement } = this.#doc;
    const within = this.owns(activeElement) ? this.#root!.activeElement : activeElement;
    return within?.localName === 'iframe' ? null : within;
  }

  /** Whether `node` is the element on the page. */
  owns(node: unknown): boolean {
    return node !== null && node === this.#element;
  }

  #setVisible(visible: boolean): void {
    this.#element?.style.setProperty('visibility', visible ? 'visible' : 'hidden', 'important');
  }
}
