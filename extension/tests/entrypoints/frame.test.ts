// @vitest-environment happy-dom
import { expect, it, vi } from 'vitest';
import { browser } from 'wxt/browser';

vi.mock('../../src/entrypoints/frame/link', () => ({ connect: () => new Promise(() => undefined) }));

it('names the language of its words, whatever the language of the browser', async () => {
  vi.spyOn(browser.i18n, 'getMessage').mockImplementation((key: string) => (key === 'extLanguage' ? 'en' : key));
  vi.spyOn(browser.i18n, 'getUILanguage').mockReturnValue('fr');
  vi.stubGlobal(
    'ResizeObserver',
    class {
      observe = vi.fn();
      disconnect = vi.fn();
    },
  );
  await import('../../src/entrypoints/frame/main');
  expect(document.documentElement.lang).toBe('en');
  expect(document.title).toBe('pageFrameTitle');
});
