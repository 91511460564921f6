/** A browser for the tests of one file. */
import { afterAll, beforeAll, expect } from 'vitest';
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

/** What the page session makes of a page, and its content once it is ready. */
export function outcomes(chromium: () => Chromium) {
  const outcome = async (url: string, html: string): Promise<any> => {
    await chromium().open(url, html);
    return (await chromium().ask('outcome', [null]))[0];
  };
  const content = async (url: string, html: string): Promise<any> => {
    const found = await outcome(url, html);
    expect(found).toMatchObject({ kind: 'ready' });
    return found.content;
  };
  return { outcome, content };
}
