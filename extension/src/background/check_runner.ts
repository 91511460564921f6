/**
 * Where checks run. Models may be silent for longer than Chrome leaves a worker alone, and a worker cannot parse the pages of
 * DuckDuckGo: so in Chrome it is an offscreen document, in Firefox the background page itself.
 */
import { browser } from 'wxt/browser';

import { RUNNER_PORT } from '../protocol/check';
import { type FromJob, runJob } from '../verdict/job';
import type { StartJob } from './checks';

const startHere: StartJob = (job, onMessage, onLost) => {
  const cancel = new AbortController();
  runJob(job, onMessage, cancel.signal).catch(console.error).finally(onLost);
  return () => cancel.abort();
};

const startOffscreen: StartJob = (job, onMessage, onLost) => {
  const ended = new AbortController();
  ended.signal.addEventListener('abort', () => {
    release();
    onLost();
  });
  const end = (): void => ended.abort();
  acquire().then(
    () => {
      if (ended.signal.aborted) return;
      const port = browser.runtime.connect({ name: RUNNER_PORT });
      port.onMessage.addListener((message: unknown) => onMessage(message as FromJob));
      port.onDisconnect.addListener(end);
      ended.signal.addEventListener('abort', () => port.disconnect());
      port.postMessage(job);
    },
    (error: unknown) => {
      console.error(error);
      end();
    },
  );
  return end;
};

export const startJob: StartJob = import.meta.env.FIREFOX ? startHere : startOffscreen;

const DOCUMENT = '/offscreen.html';
let users = 0;
/** Changes of the document happen one after the other. */
let last: Promise<void> = Promise.resolve();

async function acquire(): Promise<void> {
  users += 1;
  return enqueue(async () => {
    if (await isOpen()) return;
    await browser.offscreen.createDocument({
      url: browser.runtime.getURL(DOCUMENT),
      reasons: ['DOM_PARSER'],
      justification: 'Reads the result page of the search that the reader has chosen, for a check the reader started.',
    });
  });
}

function release(): void {
  users -= 1;
  enqueue(async () => {
    if (users === 0 && (await isOpen())) await browser.offscreen.closeDocument();
  }).catch(console.error);
}

async function isOpen(): Promise<boolean> {
  return (await browser.runtime.getContexts({ contextTypes: ['OFFSCREEN_DOCUMENT'] })).length > 0;
}

async function enqueue(step: () => Promise<void>): Promise<void> {
  const done = last.then(step);
  last = done.catch(() => undefined);
  return done;
}
