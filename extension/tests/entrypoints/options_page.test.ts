// @vitest-environment happy-dom
import { flushSync, mount, unmount } from 'svelte';
import { expect, it, vi } from 'vitest';
import { browser } from 'wxt/browser';

import type { ConnectionReport } from '../../src/verdict/check';

const testConnection = vi.hoisted(() => vi.fn<() => Promise<ConnectionReport>>());
vi.mock('../../src/verdict/connection', () => ({ testConnection }));
vi.mock('../../src/background/browser', () => ({
  net: { fetch: () => Promise.reject(new TypeError('no network')), isOnline: () => false },
}));

it('has basic and advanced settings, each in its group', async () => {
  vi.spyOn(browser.i18n, 'getMessage').mockImplementation((key: string) => key);
  vi.spyOn(browser.runtime, 'getManifest').mockReturnValue({ version: '1.0.0' } as never);
  // It takes its words when it is imported.
  const { default: App } = await import('../../src/entrypoints/options/App.svelte');
  const app = mount(App, { target: document.body });
  flushSync();
  const groups = [...document.querySelectorAll('form > section')].map((section) => [
    document.getElementById(section.getAttribute('aria-labelledby') ?? '')?.textContent,
    ...[...section.querySelectorAll('label')].map((label) => label.textContent.trim()),
  ]);
  expect(groups).toEqual([
    ['optionsBasic', 'optionsOpenAiKey', 'optionsAuto'],
    ['optionsAdvanced', 'optionsServer', 'optionsInstanceKey', 'optionsSecret'],
  ]);
  await unmount(app);
});

it('lists a site once that is off and was not added', async () => {
  vi.spyOn(browser.i18n, 'getMessage').mockImplementation((key: string) => key);
  const { default: Sites } = await import('../../src/entrypoints/options/Sites.svelte');
  const rows = (off: string[], added: string[]): string[] => {
    const list = mount(Sites, { target: document.body, props: { off, added } });
    flushSync();
    const found = [...document.querySelectorAll('li > span')].map(({ textContent }) => textContent.trim());
    void unmount(list);
    document.body.replaceChildren();
    return found;
  };
  expect(rows(['bsky.app'], [])).toEqual(['optionsSiteNotYet']);
  expect(rows(['bsky.app'], ['bsky.app'])).toEqual(['optionsSiteAdded', 'optionsSiteOff']);
});

it('shows what was saved of the fact-checks, and the test of that', async () => {
  vi.spyOn(browser.i18n, 'getMessage').mockImplementation((key: string) => key);
  vi.spyOn(browser.runtime, 'getManifest').mockReturnValue({ version: '1.0.0' } as never);
  browser.permissions.request = async () => true;
  browser.permissions.contains = async () => true;
  await browser.storage.local.set({
    ...{ verdictRoute: 'other', verdictBaseUrl: 'http://localhost/v1', verdictModel: 'slow' },
    verdictConsent: '1 localhost none',
  });
  const { default: App } = await import('../../src/entrypoints/options/App.svelte');
  const app = mount(App, { target: document.body });
  const one = (selector: string): Element | null => document.querySelector(`[aria-labelledby=checks] ${selector}`);
  const notice = (): string => one('[role=status]')!.textContent;
  const report = (): string => one('.report')!.textContent.trim();
  const save = (): unknown =>
    one('.save')!
      .closest('form')!
      .dispatchEvent(new Event('submit', { cancelable: true }));
  let answer: (report: ConnectionReport) => void = () => undefined;
  testConnection.mockReturnValueOnce(new Promise((resolve) => (answer = resolve)));
  await vi.waitFor(() => expect(one('#model')).not.toBeNull());
  save();
  await vi.waitFor(() => expect(report()).toBe('testRunning'));
  expect(notice()).toBe('optionsSaved');

  const model = one('#model') as HTMLInputElement;
  model.value = 'quick';
  model.dispatchEvent(new Event('input', { bubbles: true }));
  flushSync();
  expect(notice()).toBe('optionsNotSaved');

  testConnection.mockResolvedValueOnce({ model: { ok: true, said: 'OK.', ms: 1 }, search: null });
  save();
  await vi.waitFor(() => expect(report()).toBe('✓ testModel'));
  expect(notice()).toBe('optionsSaved');
  answer({ model: { ok: false, failure: { code: 'model_silent', host: 'localhost' } }, search: null });
  await new Promise((resolve) => setImmediate(resolve));
  flushSync();
  expect(report()).toBe('✓ testModel');
  await unmount(app);
});
