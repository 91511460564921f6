import { describe, expect, it } from 'vitest';
import { browser } from 'wxt/browser';

import { senderOf } from '../../src/background/browser';

const { id } = browser.runtime;
const page = 'https://x.com/ada/status/20';
const own = (path: string) => `chrome-extension://${id}/${path}`;

describe('a sender', () => {
  it('is the script in a tab’s page, in the top frame only', () => {
    const shown = { id: 3, url: page };
    expect(senderOf({ id, url: page, frameId: 0, tab: shown })).toEqual({ kind: 'content', tabId: 3, url: page });
    expect(senderOf({ id, url: page, frameId: 0, tab: { ...shown, incognito: true } })).toMatchObject({
      leavesNoTrace: true,
    });
    expect(senderOf({ id, url: page, frameId: 7, tab: shown })).toBeNull();
  });

  it('is on no page of ours where the browser does not show us the tab’s address any more', () => {
    const sender = senderOf({ id, url: page, frameId: 0, tab: { id: 3 } });
    expect(sender).toMatchObject({ tabId: 3, url: 'about:blank' });
  });

  it.each(['chrome-extension:', 'moz-extension:'])('is one of our own pages under %s', (protocol) => {
    const url = own('popup.html').replace('chrome-extension:', protocol);
    expect(senderOf({ id, url })).toEqual({ kind: 'page' });
    expect(senderOf({ id, url, frameId: 0, tab: { id: 3 } })).toEqual({ kind: 'page' });
  });

  it.each([
    ['the in-page frame', { id, url: own('frame.html?x#y'), frameId: 4, tab: { id: 3 } }],
    ['another extension', { id: 'other', url: own('popup.html') }],
    ['a page that has no reader yet', { id, url: page, frameId: 0, tab: { id: 3 }, documentLifecycle: 'prerender' }],
    ['nobody', {}],
  ])('is not %s', (_, sender) => expect(senderOf(sender)).toBeNull());
});
