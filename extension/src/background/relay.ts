/**
 * Joins the in-page frame to its tab's page where the browser gives frames inside pages no access to tabs (Firefox).
 *
 * Messages pass through unread, and only to the page around the frame, which checks the frame's secret. When either end
 * disconnects, so does the other.
 */
import { browser } from 'wxt/browser';

import { PORT_NAME } from '../page/frame_messages';

type Port = ReturnType<typeof browser.runtime.connect>;

/** Join a port that a frame opened; false for any other port. */
export function relay(frame: Port): boolean {
  const { sender, name } = frame;
  const tabId = sender?.tab?.id;
  if (!name.startsWith(`${PORT_NAME}:`) || sender?.id !== browser.runtime.id || tabId === undefined) return false;
  if (sender.url === undefined || new URL(sender.url).pathname !== '/frame.html') return false;
  const page: Port = browser.tabs.connect(tabId, { name, frameId: 0 });
  frame.onMessage.addListener((message: unknown) => {
    // Only calls of the browser's own functions keep Firefox from ending an idle worker; messages do not.
    void browser.runtime.getPlatformInfo();
    page.postMessage(message);
  });
  page.onMessage.addListener((message: unknown) => frame.postMessage(message));
  frame.onDisconnect.addListener(() => page.disconnect());
  page.onDisconnect.addListener(() => frame.disconnect());
  return true;
}
