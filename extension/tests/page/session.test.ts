import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import type { Background, SyncReply } from '../../src/page/ports';
import { PageSession } from '../../src/page/session';
import { noHtml, type Extraction, type PageContent, type Ready, type Site } from '../../src/platforms/base';
import type { Steps } from '../../src/platforms/steps';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const root = {
  isConnected: true,
  closest: () => null,
  contains: (other: Node) => other === root,
} as unknown as Element;

function ready(externalId: string, contentText = 'Words.', more: Partial<Ready> = {}): Ready {
  const content: PageContent = {
    platform: 'WIKIPEDIA',
    externalId,
    url: `https://en.wikipedia.org/wiki/${externalId}`,
    contentText,
    mediaState: 'text_only',
    imageUrls: [],
    imageOccurrences: [],
    metadata: {},
  };
  return { kind: 'ready', content, html: noHtml, root, excluded: () => false, isNamed: true, ...more };
}

/** A page, and a worker that gives the prepared answers in turn. */
function stage() {
  const said: string[] = [];
  const replies: (SyncReply | Error | Promise<SyncReply>)[] = [];
  const names = new Map<string, string>();
  const name = (id: string): string => {
    if (!names.has(id)) names.set(id, `s${names.size + 1}`);
    return names.get(id)!;
  };
  const reply = async (line: string): Promise<SyncReply> => {
    said.push(line);
    const next = replies.shift() ?? { ok: true };
    if (next instanceof Error) throw next;
    return next;
  };
  const worker: Background = {
    sendContent: (id, { externalId }, attempt) => reply(`content ${name(id)} ${externalId} ${attempt}`),
    sendSkipped: (id, { externalId }, _url, reason) => reply(`skipped ${name(id)} ${externalId} ${reason}`),
    async resetSession(id) {
      said.push(`reset ${name(id)}`);
    },
    anchor: async () => null,
  };
  const page = {
    url: 'https://en.wikipedia.org/wiki/A',
    known: true,
    extraction: ready('A') as Extraction,
    reads: 0,
    moves: 0,
    /** Called between two steps of each reading. */
    meanwhile: (): void => undefined,
  };
  const yielder = { sliceMs: -1, now: () => 0, yieldToPage: async () => page.meanwhile() };
  const session = new PageSession(
    {
      url: () => new URL(page.url),
      site: () => (page.known ? ({} as Site) : null),
      *read(): Steps<Extraction> {
        page.reads++;
        yield;
        return page.extraction;
      },
    },
    worker,
    yielder,
    () => page.moves++,
  );
  /** The page changes, and is looked at again. */
  const becomes = async (extraction: Extraction, url = page.url): Promise<void> => {
    Object.assign(page, { extraction, url });
    session.touch([root]);
    await session.refresh();
  };
  return { said, replies, page, session, becomes };
}

describe('a page session', () => {
  it('reports once what is here, however often the page changes', async () => {
    const { said, session, page } = stage();
    await session.refresh();
    await session.refresh();
    expect(said).toEqual(['content s1 A 0']);
    expect(session.location?.root).toBe(root);
    expect(page.moves).toBe(1);
  });

  it('ends when another post, or another version of it, is shown', async () => {
    const { said, session, page, becomes } = stage();
    await session.refresh();
    await becomes(ready('A', 'Other words.'));
    page.url = 'https://en.wikipedia.org/wiki/B';
    await becomes(ready('B'));
    expect(said).toEqual(['content s1 A 0', 'reset s1', 'content s2 A 0', 'reset s2', 'content s3 B 0']);
  });

  it('survives a fragment, and a page that is being re-rendered', async () => {
    const { said, session, page, becomes } = stage();
    await session.refresh();
    page.url += '#history';
    await becomes({ kind: 'not_ready', reason: 'hydrating' });
    await becomes(ready('A'));
    expect(said).toEqual(['content s1 A 0']);
  });

  it('ends when the address leads where nothing is ready yet, or no post is', async () => {
    for (const known of [true, false]) {
      const { said, session, page, becomes } = stage();
      await session.refresh();
      page.url = 'https://en.wikipedia.org/wiki/Elsewhere';
      page.known = known;
      await becomes({ kind: 'not_ready', reason: 'hydrating' });
      expect(said).toEqual(['content s1 A 0', 'reset s1']);
      expect(session.location).toBeNull();
    }
  });

  it('reports that a page is gated, and nothing of it', async () => {
    const { said, session, becomes } = stage();
    await becomes({ kind: 'gated', platform: 'SUBSTACK', externalId: '7' });
    expect(said).toEqual(['skipped s1 7 private_or_gated']);
    expect(session.location).toBeNull();
  });

  it('looks again at what was skipped, but not at videos and long texts', async () => {
    const { said, becomes } = stage();
    await becomes(ready('A', ''));
    await becomes(ready('A'));
    expect(said).toEqual(['skipped s1 A no_text', 'reset s1', 'content s2 A 0']);
    const video = stage();
    video.page.extraction = {
      ...ready('A'),
      content: { ...(ready('A') as { content: PageContent }).content, mediaState: 'has_video' },
    };
    await video.session.refresh();
    await video.session.refresh();
    expect(video.said).toEqual(['skipped s1 A has_video']);
    expect(video.page.reads).toBe(1);
  });

  it('reports again when the worker asks for that or does not answer', async () => {
    const { said, replies, session } = stage();
    replies.push({ ok: false, retryAfterMs: 500 }, new Error('no worker'), { ok: true });
    await session.refresh();
    await vi.advanceTimersByTimeAsync(499);
    expect(said).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(said).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(said).toEqual(['content s1 A 0', 'content s1 A 1', 'content s1 A 2']);
  });

  it('does not report again what is refused for good', async () => {
    const { said, replies, session } = stage();
    replies.push({ ok: false, retryAfterMs: null });
    await session.refresh();
    await vi.advanceTimersByTimeAsync(600_000);
    expect(said).toEqual(['content s1 A 0']);
  });

  it('takes its retries with it', async () => {
    const { said, replies, session, becomes } = stage();
    replies.push({ ok: false, retryAfterMs: 1_000 });
    await session.refresh();
    await vi.advanceTimersByTimeAsync(10);
    await becomes(ready('B'));
    await vi.advanceTimersByTimeAsync(60_000);
    expect(said).toEqual(['content s1 A 0', 'reset s1', 'content s2 B 0']);
  });

  it('repeats nothing of the last post that an answer asks for too late', async () => {
    const { said, replies, session, becomes } = stage();
    let answer: (reply: SyncReply) => void = () => undefined;
    replies.push(new Promise((resolve) => (answer = resolve)));
    await session.refresh();
    await becomes(ready('B'));
    answer({ ok: false, retryAfterMs: 1_000 });
    await vi.advanceTimersByTimeAsync(60_000);
    expect(said).toEqual(['content s1 A 0', 'reset s1', 'content s2 B 0']);
  });

  it.each([true, false])('can be started over, whether the page names its post: %s', async (isNamed) => {
    const { said, session, becomes } = stage();
    await becomes(ready('A', 'Words.', { isNamed }));
    await session.restart();
    expect(said).toEqual(['content s1 A 0', 'reset s1', 'content s2 A 0']);
  });

  it('does not read again what has not changed', async () => {
    const { session, page, becomes } = stage();
    await session.refresh();
    await session.refresh();
    expect(page.reads).toBe(1);
    await becomes(ready('A'));
    expect(page.reads).toBe(2);
  });

  it('makes the HTML only for what is sent', async () => {
    const made = vi.fn(noHtml);
    const { becomes } = stage();
    await becomes(ready('A', 'Words.', { html: made }));
    await becomes(ready('A', 'Words.', { html: made }));
    expect(made).toHaveBeenCalledTimes(1);
    await becomes({
      ...ready('A', 'Words.', { html: made }),
      content: { ...ready('A').content, mediaState: 'has_video' },
    });
    expect(made).toHaveBeenCalledTimes(1);
  });

  it('takes no reading over which the post was changed, and in the end reads at once', async () => {
    const { said, session, page } = stage();
    let changes = 0;
    page.meanwhile = () => {
      page.extraction = ready('A', `Version ${++changes}.`);
      session.touch([root]);
    };
    await session.refresh();
    expect([page.reads, changes]).toEqual([3, 2]);
    expect(said).toEqual(['content s1 A 0']);
  });

  it('does not mind what is changed elsewhere meanwhile', async () => {
    const { said, session, page, becomes } = stage();
    page.meanwhile = () => session.touch([{ contains: () => false } as unknown as Node]);
    await becomes(ready('A', 'Words.', { scope: root }));
    expect([page.reads, said.length]).toEqual([1, 1]);
  });

  it('gives a look up when the post is gone', async () => {
    const { said, session, page } = stage();
    page.meanwhile = () => session.end();
    await session.refresh();
    expect(said).toEqual([]);
  });

  it('looks again while a post is to come, though no change announces it', async () => {
    const { said, page, becomes } = stage();
    await becomes({ kind: 'not_ready', reason: 'hydrating' });
    page.extraction = ready('A');
    await vi.advanceTimersByTimeAsync(1_000);
    expect(said).toEqual(['content s1 A 0']);
  });

  it('waits at a new address until a page that names nothing shows both another head and other words', async () => {
    const { said, becomes } = stage();
    const unnamed = { isNamed: false };
    await becomes(ready('A', 'Words of A.', unnamed));
    const next = 'https://en.wikipedia.org/wiki/B';
    await becomes(ready('A', 'Words of A.', unnamed), next);
    await becomes(ready('B', 'Words of A.', unnamed), next);
    await becomes(ready('A', 'Words of B.', unnamed), next);
    expect(said).toEqual(['content s1 A 0', 'reset s1']);
    await becomes(ready('B', 'Words of B.', unnamed), next);
    expect(said.at(-1)).toBe('content s2 B 0');
  });

  it('takes a page at its word when that names the post', async () => {
    const { said, becomes } = stage();
    await becomes(ready('A'));
    await becomes(ready('A'), 'https://en.wikipedia.org/wiki/Other_name');
    expect(said).toEqual(['content s1 A 0', 'reset s1', 'content s2 A 0']);
  });

  it('sees an edit at once, however many posts its reader came past', async () => {
    const { said, becomes } = stage();
    for (const name of ['A', 'B', 'C', 'D', 'E']) await becomes(ready(name), `https://en.wikipedia.org/wiki/${name}`);
    await becomes(ready('E', 'Corrected.'));
    expect(said.at(-1)).toBe('content s6 E 0');
  });

  it('sends ever fewer versions of a page that keeps making them, and keeps its place', async () => {
    const { said, session, page, becomes } = stage();
    const sent = (): number => said.filter((line) => line.startsWith('content')).length;
    for (let second = 0; second < 300; second++) {
      await becomes(ready('A', `Second ${second}.`));
      await vi.advanceTimersByTimeAsync(1_000);
    }
    expect(sent()).toBe(6);
    const reads = page.reads;
    expect(reads).toBeLessThan(20);
    const elsewhere = { isConnected: true, closest: () => null, contains: () => true } as unknown as Element;
    Object.assign(root, { isConnected: false });
    await becomes(ready('A', 'Rendered anew.', { root: elsewhere }));
    Object.assign(root, { isConnected: true });
    expect([session.location?.root, sent()]).toEqual([elsewhere, 6]);
    await becomes(ready('B'), 'https://en.wikipedia.org/wiki/B');
    expect(sent()).toBe(7);
  });
});
