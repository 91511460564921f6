// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { browser } from 'wxt/browser';

import { relay } from '../../src/background/relay';
import { connect } from '../../src/entrypoints/frame/link';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** One end of a port; `say` is what the other end does. */
function port(more: object = {}) {
  let listener: (message: unknown) => void = () => undefined;
  const onMessage = { addListener: (one: typeof listener) => void (listener = one) };
  const end = { postMessage: vi.fn(), disconnect: vi.fn(), onMessage, onDisconnect: { addListener: vi.fn() } };
  return { ...end, ...more, say: (message: unknown) => listener(message) };
}

/** As in Firefox, where a frame inside a page has no access to tabs. */
function withoutTabs(to: unknown): void {
  vi.spyOn(browser, 'tabs', 'get').mockReturnValue(undefined as never);
  vi.spyOn(browser.runtime, 'connect').mockReturnValue(to as never);
}

it('asks the worker between frame and page to stay while the frame is shown, and no longer', async () => {
  const end = port();
  withoutTabs(end);
  let isShown = true;
  await connect(
    () => undefined,
    () => isShown,
  );
  vi.advanceTimersByTime(29_000);
  expect(end.postMessage).toHaveBeenCalledWith({ kind: 'alive' });
  isShown = false;
  end.postMessage.mockClear();
  vi.advanceTimersByTime(120_000);
  expect(end.postMessage).not.toHaveBeenCalled();
});

/** A frame that opens a port, and the page that the worker joins it to. */
function joined(more: object = {}) {
  const sender = { id: browser.runtime.id, tab: { id: 1 }, url: 'moz-extension://x/frame.html', ...more };
  const frame = port({ name: 'in-page:secret', sender });
  const page = port();
  const connected = vi.fn((_tab: number, _to: object) => page);
  Object.assign(browser.tabs, { connect: connected });
  return { frame, page, connected };
}

it('stays awake by what the browser counts, which is not messages', () => {
  const { frame, page } = joined();
  const called = vi.fn(() => Promise.resolve());
  Object.assign(browser.runtime, { getPlatformInfo: called });
  expect(relay(frame as never)).toBe(true);
  frame.say({ kind: 'alive' });
  expect(called).toHaveBeenCalledOnce();
  expect(page.postMessage).toHaveBeenCalledWith({ kind: 'alive' });
});

it('joins a frame to the page around it alone, until either of them is gone', () => {
  for (const [gone, other] of [
    ['frame', 'page'],
    ['page', 'frame'],
  ] as const) {
    const ends = joined();
    expect(relay(ends.frame as never)).toBe(true);
    expect(ends.connected).toHaveBeenCalledWith(1, { name: 'in-page:secret', frameId: 0 });
    ends.page.say({ kind: 'tone' });
    expect(ends.frame.postMessage).toHaveBeenCalledWith({ kind: 'tone' });
    expect(ends[other].disconnect).not.toHaveBeenCalled();
    (ends[gone].onDisconnect.addListener.mock.calls[0]![0] as () => void)();
    expect(ends[other].disconnect).toHaveBeenCalledOnce();
  }
});

it.each([
  ['a page', { url: 'https://x.com/frame' }],
  ['another page of the extension', { url: 'moz-extension://x/popup.html' }],
  ['another extension', { id: 'other' }],
])('joins nothing that %s opens', (_, more) => {
  const { frame, connected } = joined(more);
  expect(relay(frame as never)).toBe(false);
  expect(connected).not.toHaveBeenCalled();
});
