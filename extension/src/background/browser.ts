/**
 * The background's ports over the real browser. Nothing is decided here.
 *
 * A message or badge for a tab that was closed meanwhile is not an error.
 */
import { browser } from 'wxt/browser';

import { INSTALL_HOSTS } from '../hosts';
import type { Alarm, Pages, Scripts, Timer } from './ports';
import type { Net } from './server';
import type { Sender } from './worker';

export const POLL_ALARM = 'poll';
const POLL_MINUTES = 0.5;
export const REFRESH_ALARM = 'refresh';
export const HINT_ALARM = 'hint';
const SITE = 'site:';
/** Stands for the address of a page that the browser does not show us: where a reader took the permission back. */
const UNSEEN = 'about:blank';

const ignoreClosedTab = () => undefined;

export const net: Net = {
  fetch: (url, init) => fetch(url, init),
  isOnline: () => navigator.onLine,
  hasPermission: (pattern) => browser.permissions.contains({ origins: [pattern] }).catch(() => false),
};

export const alarm: Alarm = {
  start: () => void browser.alarms.create(POLL_ALARM, { periodInMinutes: POLL_MINUTES }),
  stop: () => void browser.alarms.clear(POLL_ALARM),
};

export const refreshTimer: Timer = {
  ensure: (delayInMinutes) =>
    void browser.alarms.get(REFRESH_ALARM).then((known) => {
      if (known === undefined) void browser.alarms.create(REFRESH_ALARM, { delayInMinutes });
    }),
};

export const wakeForHint = (delayInMinutes: number): void => void browser.alarms.create(HINT_ALARM, { delayInMinutes });

export const pages: Pages = {
  send: (tabId, message) => void browser.tabs.sendMessage(tabId, message, { frameId: 0 }).catch(ignoreClosedTab),
  async openTabs() {
    const tabs = await browser.tabs.query({});
    return tabs.flatMap(({ id, url = UNSEEN }) => (id === undefined ? [] : [{ id, url }]));
  },
  async activeTab() {
    const [tab] = await browser.tabs.query({ active: true, lastFocusedWindow: true });
    return tab?.id ?? null;
  },
  async leavesNoTrace(tabId) {
    const tab = await browser.tabs.get(tabId).catch(ignoreClosedTab);
    return tab?.incognito !== false;
  },
  setBadge(tabId, { text, color, title }) {
    const tab = tabId === null ? {} : { tabId };
    const said = browser.i18n.getMessage(title, [text]);
    void browser.action.setBadgeText({ ...tab, text }).catch(ignoreClosedTab);
    void browser.action.setBadgeBackgroundColor({ ...tab, color }).catch(ignoreClosedTab);
    void browser.action.setTitle({ ...tab, title: said }).catch(ignoreClosedTab);
  },
};

export const scripts: Scripts = {
  hasPermission: (pattern) => browser.permissions.contains({ origins: [pattern] }),
  async registeredHosts() {
    const known = await browser.scripting.getRegisteredContentScripts();
    return known.flatMap(({ id }) => (id.startsWith(SITE) ? [id.slice(SITE.length)] : []));
  },
  async register(host, pattern) {
    const { js, css } = contentScript();
    await browser.scripting.registerContentScripts([
      { id: SITE + host, matches: [pattern], js, css, runAt: 'document_idle', persistAcrossSessions: true },
    ]);
    await inject([pattern]);
  },
  injectInto: (tabId) => startIn(tabId),
  unregister: (host) => browser.scripting.unregisterContentScripts({ ids: [SITE + host] }),
  async revokePermission(pattern) {
    await browser.permissions.remove({ origins: [pattern] });
  },
};

/** Start the content script in the tabs that show such pages now. */
export async function inject(patterns: readonly string[] = INSTALL_HOSTS): Promise<void> {
  for (const { id } of await browser.tabs.query({ url: [...patterns] })) {
    if (id !== undefined) await startIn(id);
  }
}

async function startIn(tabId: number): Promise<void> {
  const { js, css } = contentScript();
  await browser.scripting.insertCSS({ target: { tabId }, files: css }).catch(ignoreClosedTab);
  await browser.scripting.executeScript({ target: { tabId }, files: js as never[] }).catch(ignoreClosedTab);
}

function contentScript(): { js: string[]; css: string[] } {
  const [script] = browser.runtime.getManifest().content_scripts ?? [];
  return { js: (script?.js ?? []).map(pathOf), css: (script?.css ?? []).map(pathOf) };
}

/** Firefox gives a manifest's files by their whole addresses, and takes only paths. */
function pathOf(file: string): string {
  return new URL(file, browser.runtime.getURL('/')).pathname.slice(1);
}

/**
 * Who sent a message; null is a sender to ignore. A prerendered page has no reader yet,
 * and the in-page frame is an extension page that any site could try to show: it may ask for nothing.
 */
export function senderOf(sender: {
  id?: string | undefined;
  url?: string | undefined;
  frameId?: number | undefined;
  documentLifecycle?: string | undefined;
  tab?: { id?: number | undefined; url?: string | undefined; incognito?: boolean | undefined } | undefined;
}): Sender | null {
  if (sender.id !== browser.runtime.id || sender.url === undefined) return null;
  if (sender.documentLifecycle === 'prerender') return null;
  const url = new URL(sender.url);
  if (url.protocol.endsWith('-extension:')) return url.pathname === '/frame.html' ? null : { kind: 'page' };
  const { id: tabId, url: seen, incognito: leavesNoTrace } = sender.tab ?? {};
  return tabId === undefined || sender.frameId !== 0
    ? null
    : { kind: 'content', tabId, url: seen === undefined ? UNSEEN : sender.url, leavesNoTrace };
}
