import { beforeEach, expect, it, vi } from 'vitest';
import { browser } from 'wxt/browser';

import { RUNNER_PORT } from '../../src/protocol/check';
import { runJob } from '../../src/verdict/job';

vi.mock('../../src/verdict/job', () => ({ runJob: vi.fn(() => Promise.resolve()) }));

type Listener = (...said: never[]) => void;

/** An event of the browser that a test fires. */
function event() {
  const listeners: Listener[] = [];
  return {
    addListener: (one: Listener) => void listeners.push(one),
    fire: (...said: unknown[]) => listeners.forEach((one) => one(...(said as never[]))),
  };
}

const connected = event();

beforeEach(() => void Object.assign(browser.runtime, { onConnect: connected }));

it('keeps settings and keys from the scripts in pages', async () => {
  const setAccessLevel = vi.fn();
  Object.assign(browser.storage.local, { setAccessLevel });
  vi.spyOn(browser.runtime, 'getManifest').mockReturnValue({ version: '1.0.0' } as never);
  for (const api of ['permissions', 'commands', 'tabs', 'runtime'] as const)
    for (const name of Object.keys(browser[api]).filter((one) => one.startsWith('on')))
      Object.assign(browser[api], { [name]: event() });
  const { default: background } = await import('../../src/entrypoints/background');
  background.main();
  expect(setAccessLevel).toHaveBeenCalledWith({ accessLevel: 'TRUSTED_CONTEXTS' });
});

it('runs no check that a script in a page asks for by itself', async () => {
  await import('../../src/entrypoints/offscreen/main');
  const port = (sender: object) => ({
    ...{ name: RUNNER_PORT, sender: { id: browser.runtime.id, ...sender } },
    ...{ postMessage: vi.fn(), disconnect: vi.fn(), onMessage: event(), onDisconnect: event() },
  });
  const script = port({ url: 'https://bsky.app/', frameId: 0, tab: { id: 1 } });
  connected.fire(script);
  script.onMessage.fire({});
  expect(runJob).not.toHaveBeenCalled();
  const own = port({ url: 'chrome-extension://x/background.js' });
  connected.fire(own);
  own.onMessage.fire({});
  expect(runJob).toHaveBeenCalledOnce();
});
