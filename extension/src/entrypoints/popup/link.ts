/**
 * The popup's connection to the background and to the tab that it belongs to.
 */
import { browser } from 'wxt/browser';

import { SITES } from '../../platforms';
import { type Answer, type CachedStatus, type FromPage, write } from '../../protocol/messages';

export interface PopupTab {
  readonly id: number;
  readonly url: string | null;
  readonly title: string;
}

/** The tab this popup is about: the one in front, or the one that its address names where it stands in a tab itself. */
export async function findTab(): Promise<PopupTab | null> {
  const named = new URLSearchParams(location.search).get('tab');
  const tab =
    named === null
      ? (await browser.tabs.query({ active: true, currentWindow: true }))[0]
      : await browser.tabs.get(Number(named));
  return tab?.id === undefined ? null : { id: tab.id, url: tab.url ?? null, title: tab.title ?? '' };
}

/** Ask the background; a worker that could not answer is an error. */
export async function sendMessage<T extends FromPage['type']>(
  type: T,
  payload: Extract<FromPage, { type: T }>['payload'],
): Promise<Answer<Partial<CachedStatus>>> {
  const answer: unknown = await browser.runtime.sendMessage(write(type, payload));
  return answer as Answer<Partial<CachedStatus>>;
}

/** Scroll the tab to a finding; false if it is not there. */
export async function focusClaim(tabId: number, claimId: string): Promise<boolean> {
  const answer = (await browser.tabs
    .sendMessage(tabId, write('FOCUS_CLAIM', { claimId }), { frameId: 0 })
    .catch(() => undefined)) as Answer | undefined;
  return answer?.ok === true;
}

/** Have the tab's post in view checked; false if none is. */
export async function checkPost(tabId: number): Promise<boolean> {
  const answer = (await browser.tabs
    .sendMessage(tabId, write('CHECK_POST', {}), { frameId: 0 })
    .catch(() => undefined)) as Answer | undefined;
  return answer?.ok === true;
}

/** The display name of the site whose marks a page shows; the click on the popup opened the page to the extension. */
export async function findMarkedSite(tabId: number): Promise<string | null> {
  for (const { customDomain, displayName } of SITES) {
    if (customDomain === undefined) continue;
    const results = await browser.scripting
      .executeScript({
        target: { tabId },
        func: (marks: string) => document.querySelector(marks) !== null,
        args: [customDomain.marks],
      })
      .catch(() => []);
    if (results[0]?.result === true) return displayName;
  }
  return null;
}
