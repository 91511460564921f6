/**
 * The channel to the in-page frame: send, receive, position.
 *
 * The page may remove the frame, which is then created again. Messages sent before it is ready are queued, the newest of
 * each kind. A port counts only if it knows the secret of the frame that was made here.
 */
import { PORT_NAME, type FromFrame, type ToFrame } from './frame_messages';
import type { Placement } from './geometry';
import { FrameHost, type Anchor } from './frame_host';
import type { HostElement } from './host_element';

/** A connection opened to this page. */
export interface FramePort {
  readonly name: string;
  postMessage(message: ToFrame): void;
  readonly onMessage: { addListener(listener: (message: unknown) => void): void };
  readonly onDisconnect: { addListener(listener: () => void): void };
}

export class FrameChannel {
  readonly #host: FrameHost;
  readonly #secret = crypto.randomUUID();
  readonly #onMessage: (message: FromFrame) => void;
  readonly #onLost: () => void;
  #port: FramePort | null = null;
  #ready = false;
  #queue: ToFrame[] = [];

  /** `address` is the frame's without the secret; `onMessage` gets its messages, `ready` first; `onLost` follows its end. */
  constructor(
    host: HostElement,
    address: string,
    title: string,
    onMessage: (message: FromFrame) => void,
    onLost: () => void,
  ) {
    this.#host = new FrameHost(host, `${address}#${this.#secret}`, title);
    this.#onMessage = onMessage;
    this.#onLost = onLost;
  }

  /** Whether the frame receives messages. */
  get ready(): boolean {
    return this.#ready;
  }

  /** Make the frame unless it is there. */
  ensure(): void {
    if (!this.#host.ensure()) return;
    this.#port = null;
    this.#ready = false;
    this.#queue = [];
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
      // A page that went to the back-forward cache comes back with a disconnected frame: it is created again.
      if (this.#port !== port) return;
      this.remove();
      this.#onLost();
    });
    return true;
  }

  send(message: ToFrame): void {
    if (this.#port !== null && this.#ready) {
      try {
        this.#port.postMessage(message);
      } catch {
        // The extension was updated; `controller.ts` leaves the page within a second.
      }
    } else this.#queue = [...this.#queue.filter(({ kind }) => kind !== message.kind), message];
  }

  place(spot: Placement | null, anchor: Anchor = 'window'): void {
    this.#host.place(spot, anchor);
  }

  focus(): void {
    this.#host.focus();
  }

  blur(): void {
    this.#host.blur();
  }

  /** Whether this is our element on the page. */
  owns(node: unknown): boolean {
    return this.#host.owns(node);
  }

  remove(): void {
    this.#port = null;
    this.#ready = false;
    this.#host.remove();
  }

  #receive(message: FromFrame): void {
    if (message.kind === 'ready') this.#ready = true;
    this.#onMessage(message);
    if (message.kind !== 'ready') return;
    const waiting = this.#queue;
    this.#queue = [];
    for (const one of waiting) this.send(one);
  }
}
