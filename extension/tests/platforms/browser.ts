/** A browser for the tests of one file. */
import { afterAll, beforeAll } from 'vitest';
import { Chromium } from '../../vectors/chromium';

const START_WITHIN_MS = 120_000;

export function browser(more = ''): () => Chromium {
  let running: Chromium | undefined;
  beforeAll(async () => {
    running = await Chromium.start(more);
  }, START_WITHIN_MS);
  afterAll(() => running?.close());
  return () => {
    if (running === undefined) throw new Error('the browser has not started');
    return running;
  };
}
