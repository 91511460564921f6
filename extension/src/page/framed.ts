/**
 * The in-page frame as the rest of the page's code sees it: say something to it, hear it, put it somewhere.
 *
 * The frame loads, is removed by the page, and is made anew: what was said before it was ready is said then, the newest of
 * each kind. A port counts only if it knows the secret of the frame that was made here.
 */
import { PORT_NAME, type FromFrame, type ToFrame } from './frame_messages';
import type { Spot } from './geometry';
import { Host } from './host';

/** A connection that somebody opened to this page. */
export interface FramePort {
  readonly name: string;
  postMessage(message: ToFrame): void;
  readonly onMessage: { addListener(listener: (message: unknown) => void): void };
  readonly onDisconnect: { addListener(listener: () => void): void };
}

export class Framed {
  readonly #host: Host;
  readonly #secret = crypto.randomUUID();
  readonly #hear: (message: FromFrame) => void;
  readonly #lost: () => void;
  #port: FramePort | null = null;
  #ready = false;
  #waiting: ToFrame[] = [];

  /** `address` is the frame's without the secret; `hear` gets what it says, `ready` before all else; `lost` is called when it is gone. */
  constructor(doc: Document, address: string, title: string, hear: (message: FromFrame) => void, lost: () => void) {
    this.#host = new Host(doc, `${address}#${this.#secret}`, title);
    this.#hear = hear;
    this.#lost = lost;
  }

  /** Whether there is a frame that listens. */
  get ready(): boolean {
    return this.#ready;
  }

  /** Make the frame unless it is there. */
  ensure(): void {
    if (!this.#host.ensure()) return;
    this.#port = null;
    this.#ready = false;
    this.#waiting = [];
  }

  /** Take the port that a frame opened; false if it is not from ours. */
  accept(port: FramePort): boolean {
    if (port.name !== `${PORT_NAME}:${this.#secret}`) return false;
    this.#port = port;
    this.#ready = false;
    port.onMessage.addListener((message) => {
      if (this.#port === port) this.#receive(message as FromFrame);
    });
    port.onDisconnect.addListener(() => {
      // A page that went to the back-forward cache comes back with a frame that hears nothing: the next one is made anew.
      if (this.#port !== port) return;
      this.remove();
      this.#lost();
    });
    return true;
  }

  tell(message: ToFrame): void {
    if (this.#port !== null && this.#ready) this.#port.postMessage(message);
    else this.#waiting = [...this.#waiting.filter(({ kind }) => kind !== message.kind), message];
  }

  put(spot: Spot | null): void {
    this.#host.put(spot);
  }

  focus(): void {
    this.#host.focus();
  }

  blur(): void {
    this.#host.blur();
  }

  /** Whether this is our element on the page. */
  is(node: unknown): boolean {
    return this.#host.is(node);
  }

  remove(): void {
    this.#port = null;
    this.#ready = false;
    this.#host.remove();
  }

  #receive(message: FromFrame): void {
    if (message.kind === 'ready') this.#ready = true;
    this.#hear(message);
    if (message.kind !== 'ready') return;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const one of waiting) this.tell(one);
  }
}
