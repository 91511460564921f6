/**
 * Implements the page session's port to the worker with the extension's messages.
 *
 * The worker may end between any two messages. A call that it did not answer throws or returns null; no call waits forever.
 */
import { browser } from 'wxt/browser';

import type { Anchoring } from '../anchoring';
import type { Answer, AnchorAnswer, PageSettings, SyncAnswer } from '../protocol/messages';
import { ANCHOR_PORT, write } from '../protocol/wire';
import type { Background, SyncReply } from './ports';
import type { Yielder } from './slices';

/** UTF-16 units of page text in one message: a copy of this size takes about a millisecond. */
const PIECE = 64 * 1024;
const ANCHOR_WITHIN_MS = 30_000;

/** Ask the worker whether this page may be looked at. */
export async function requestPageSettings(): Promise<PageSettings> {
  const answer: Answer<PageSettings> | undefined = await browser.runtime.sendMessage(write('HELLO', {}));
  if (!answer?.ok) throw new Error('the worker did not answer');
  return { active: answer.active, showHighlights: answer.showHighlights, checks: answer.checks };
}

export function connectBackground(yielder: Yielder): Background {
  return {
    async sendContent(tabSessionId, content, attempt) {
      return toReply(await browser.runtime.sendMessage(write('PAGE_CONTENT', { tabSessionId, attempt, content })));
    },
    async sendSkipped(tabSessionId, { platform, externalId }, pageUrl, reason) {
      return toReply(
        await browser.runtime.sendMessage(
          write('PAGE_SKIPPED', { tabSessionId, platform, externalId, pageUrl, reason }),
        ),
      );
    },
    async resetSession(tabSessionId) {
      try {
        await browser.runtime.sendMessage(write('PAGE_RESET', { tabSessionId }));
      } catch {
        // If the extension was updated, the call throws at once. Nothing is kept of the session then.
      }
    },
    async anchor(text, quotes) {
      const port = browser.runtime.connect({ name: ANCHOR_PORT });
      const answered = waitForAnswer(port);
      try {
        for (const raw of splitText(text.raw)) {
          port.postMessage({ type: 'TEXT', raw });
          await yielder.yieldToPage();
        }
        port.postMessage({ type: 'CLAIMS', breaks: text.breaks, markers: text.markers, claims: quotes });
        return await answered;
      } finally {
        port.disconnect();
      }
    },
  };
}

type Port = ReturnType<typeof browser.runtime.connect>;

function waitForAnswer(port: Port): Promise<readonly Anchoring[] | null> {
  return new Promise((resolve) => {
    const late = setTimeout(() => resolve(null), ANCHOR_WITHIN_MS);
    const settle = (anchorings: readonly Anchoring[] | null): void => {
      clearTimeout(late);
      resolve(anchorings);
    };
    port.onMessage.addListener((message: unknown) => settle((message as AnchorAnswer).anchorings));
    port.onDisconnect.addListener(() => settle(null));
  });
}

/** Split a text into pieces without cutting a character. */
export function* splitText(raw: string): Generator<string> {
  let start = 0;
  while (start < raw.length) {
    let end = Math.min(raw.length, start + PIECE);
    const last = raw.charCodeAt(end - 1);
    if (end < raw.length && last >= 0xd800 && last <= 0xdbff) end--;
    yield raw.slice(start, end);
    start = end;
  }
}

function toReply(answer: SyncAnswer | undefined): SyncReply {
  if (answer === undefined) throw new Error('the worker did not answer');
  return answer.ok ? answer : { ok: false, retryAfterMs: answer.retryAfterMs ?? null };
}
