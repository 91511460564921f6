/**
 * The frame's side of the port to the content script of its own tab.
 *
 * In Chrome a worker restart does not touch this port; an unloaded page ends it, and then the frame is gone too.
 */
import { browser } from 'wxt/browser';

import { PORT_NAME, type FromFrame, type ToFrame } from '../../page/frame_messages';

export interface Link {
  send(message: FromFrame): void;
}

/** Less than the 30 seconds after which Firefox ends a worker that does nothing. */
const ALIVE_MS = 20_000;

type Tabs = typeof browser.tabs;
type Port = ReturnType<typeof browser.runtime.connect>;

/** Connect to the page around this frame; messages are given to `receive`. `isShown` says whether a reader sees it. */
export async function connect(receive: (message: ToFrame) => void, isShown: () => boolean): Promise<Link> {
  const name = `${PORT_NAME}:${location.hash.slice(1)}`;
  const tabs = browser.tabs as Tabs | undefined;
  const port = tabs === undefined ? connectByWorker(name, isShown) : await connectDirectly(tabs, name);
  port.onMessage.addListener((message: unknown) => receive(message as ToFrame));
  return {
    send(message) {
      try {
        port.postMessage(message);
      } catch {
        // The extension was updated; the page takes this frame away within a second.
      }
    },
  };
}

/** Connect straight to the page, where the browser lets a frame inside a page do so. */
async function connectDirectly(tabs: Tabs, name: string): Promise<Port> {
  const tab = await tabs.getCurrent();
  if (tab?.id === undefined) throw new Error('not inside a tab');
  return tabs.connect(tab.id, { name, frameId: 0 });
}

/** Connect by the worker, as in Firefox. If the worker ended, the frame that is being read would end too. */
function connectByWorker(name: string, isShown: () => boolean): Port {
  const port = browser.runtime.connect({ name });
  setInterval(() => {
    if (isShown()) port.postMessage({ kind: 'alive' } satisfies FromFrame);
  }, ALIVE_MS);
  return port;
}
