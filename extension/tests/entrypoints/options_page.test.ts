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
