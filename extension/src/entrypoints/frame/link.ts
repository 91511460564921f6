/**
 * The frame's side of the port to the content script of its own tab.
 *
 * A worker restart does not touch this port; an unloaded page ends it, and then the frame is gone too.
 */
import { browser } from 'wxt/browser';

import { PORT_NAME, type FromFrame, type ToFrame } from '../../page/frame_messages';

export interface Link {
  send(message: FromFrame): void;
}

/** Connect to the page around this frame; messages are given to `receive`. */
export async function connect(receive: (message: ToFrame) => void): Promise<Link> {
  const secret = location.hash.slice(1);
  const tab = await browser.tabs.getCurrent();
  if (tab?.id === undefined) throw new Error('not inside a tab');
  const port = browser.tabs.connect(tab.id, { name: `${PORT_NAME}:${secret}`, frameId: 0 });
  port.onMessage.addListener((message: unknown) => receive(message as ToFrame));
  return { send: (message) => port.postMessage(message) };
}
