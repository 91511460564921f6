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
  const name = `${PORT_NAME}:${location.hash.slice(1)}`;
  const port = await openPort(name);
  port.onMessage.addListener((message: unknown) => receive(message as ToFrame));
  return { send: (message) => port.postMessage(message) };
}

/** Straight to the page where the browser lets a frame inside a page do so; Firefox does not, there the worker joins them. */
async function openPort(name: string): Promise<ReturnType<typeof browser.runtime.connect>> {
  const tabs = browser.tabs as typeof browser.tabs | undefined;
  if (tabs === undefined) return browser.runtime.connect({ name });
  const tab = await tabs.getCurrent();
  if (tab?.id === undefined) throw new Error('not inside a tab');
  return tabs.connect(tab.id, { name, frameId: 0 });
}
