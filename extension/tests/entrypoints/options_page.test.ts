// @vitest-environment happy-dom
import { flushSync, mount, unmount } from 'svelte';
import { expect, it, vi } from 'vitest';
import { browser } from 'wxt/browser';

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
