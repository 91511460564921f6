/** The in-page frame as a test sees it: its end of the port, and the secret in its address. */
import type { FromFrame, ToFrame } from '../../src/page/frame_messages';
import type { FramePort } from '../../src/page/frame_channel';

/** The frame's end of a port. */
export class Frame implements FramePort {
  readonly received: ToFrame[] = [];
  #say: (message: unknown) => void = () => undefined;
  #end: () => void = () => undefined;
  readonly onMessage = { addListener: (listener: (message: unknown) => void) => void (this.#say = listener) };
  readonly onDisconnect = { addListener: (listener: () => void) => void (this.#end = listener) };

  constructor(readonly name: string) {}

  postMessage(message: ToFrame): void {
    this.received.push(message);
  }

  say(message: FromFrame): void {
    this.#say(message);
  }

  end(): void {
    this.#end();
  }
}

/** A document that shows the frame's address, which the closed root hides from everybody else. */
export function revealing(): { readonly doc: Document; readonly secret: () => string } {
  let address = '';
  const doc = Object.create(document, {
    createElement: {
      value: (name: string) => {
        const made = document.createElement(name === 'iframe' ? 'p' : name);
        if (name === 'iframe') Object.defineProperty(made, 'src', { set: (to: string) => void (address = to) });
        return made;
      },
    },
    activeElement: { get: () => document.activeElement },
    defaultView: { value: window },
    documentElement: { value: document.documentElement },
  }) as Document;
  return { doc, secret: () => address.split('#')[1]! };
}
