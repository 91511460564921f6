import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import type { Background, Reply } from '../../src/page/ports';
import { PageSession } from '../../src/page/session';
import type { Adapter, Extraction, PageContent } from '../../src/platforms/base';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const root = { is: 'root' } as unknown as Element;

function ready(externalId: string, contentText = 'Words.'): Extraction {
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
  return { kind: 'ready', content, root, excluded: () => false };
}

/** A page, and a worker that answers what it is told to, in turn. */
function stage() {
  const said: string[] = [];
  const replies: (Reply | Error)[] = [];
  const names = new Map<string, string>();
  const name = (id: string): string => {
    if (!names.has(id)) names.set(id, `s${names.size + 1}`);
    return names.get(id)!;
  };
  const reply = async (line: string): Promise<Reply> => {
    said.push(line);
    const next = replies.shift() ?? { ok: true };
    if (next instanceof Error) throw next;
    return next;
  };
  const worker: Background = {
    content: (id, { externalId }, attempt) => reply(`content ${name(id)} ${externalId} ${attempt}`),
    skipped: (id, { externalId }, _url, reason) => reply(`skipped ${name(id)} ${externalId} ${reason}`),
    async reset(id) {
      said.push(`reset ${name(id)}`);
    },
    anchor: async () => null,
  };
  const page = { url: 'https://en.wikipedia.org/wiki/A', known: true, extraction: ready('A'), reads: 0, moves: 0 };
  const session = new PageSession(
    {
      url: () => new URL(page.url),
      adapter: () => (page.known ? ({} as Adapter) : null),
      read: () => {
        page.reads++;
        return page.extraction;
      },
    },
    worker,
    () => page.moves++,
  );
  return { said, replies, page, session };
}

describe('a page session', () => {
  it('says once what is here, however often the page changes', () => {
    const { said, session, page } = stage();
    session.refresh();
    session.refresh();
    expect(said).toEqual(['content s1 A 0']);
    expect(session.place?.root).toBe(root);
    expect(page.moves).toBe(1);
  });

  it('ends when another post, or another version of it, is shown', () => {
    const { said, session, page } = stage();
    session.refresh();
    page.extraction = ready('A', 'Other words.');
    session.refresh();
    page.url = 'https://en.wikipedia.org/wiki/B';
    page.extraction = ready('B');
    session.refresh();
    expect(said).toEqual(['content s1 A 0', 'reset s1', 'content s2 A 0', 'reset s2', 'content s3 B 0']);
  });

  it('survives a fragment, and a page that is being rendered anew', () => {
    const { said, session, page } = stage();
    session.refresh();
    page.url += '#history';
    page.extraction = { kind: 'not_ready', reason: 'hydrating' };
    session.refresh();
    page.extraction = ready('A');
    session.refresh();
    expect(said).toEqual(['content s1 A 0']);
  });

  it('ends when the address leads where nothing is ready yet, or no post is', () => {
    for (const known of [true, false]) {
      const { said, session, page } = stage();
      session.refresh();
      page.url = 'https://en.wikipedia.org/wiki/Elsewhere';
      page.known = known;
      page.extraction = { kind: 'not_ready', reason: 'hydrating' };
      session.refresh();
      expect(said).toEqual(['content s1 A 0', 'reset s1']);
      expect(session.place).toBeNull();
    }
  });

  it('says that a gated page is one, and nothing of it', () => {
    const { said, session, page } = stage();
    page.extraction = { kind: 'gated', platform: 'SUBSTACK', externalId: '7' };
    session.refresh();
    expect(said).toEqual(['skipped s1 7 private_or_gated']);
    expect(session.place).toBeNull();
  });

  it('looks again at what was skipped, but not at videos and long texts', () => {
    const { said, session, page } = stage();
    page.extraction = ready('A', '');
    session.refresh();
    page.extraction = ready('A');
    session.refresh();
    expect(said).toEqual(['skipped s1 A no_text', 'reset s1', 'content s2 A 0']);
    const video = stage();
    video.page.extraction = { ...ready('A'), content: { ...(ready('A') as { content: PageContent }).content, mediaState: 'has_video' } } as Extraction;
    video.session.refresh();
    video.session.refresh();
    expect(video.said).toEqual(['skipped s1 A has_video']);
    expect(video.page.reads).toBe(1);
  });

  it('says it again when the worker asks for that or does not answer', async () => {
    const { said, replies, session } = stage();
    replies.push({ ok: false, retryAfterMs: 500 }, new Error('no worker'), { ok: true });
    session.refresh();
    await vi.advanceTimersByTimeAsync(499);
    expect(said).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(said).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(said).toEqual(['content s1 A 0', 'content s1 A 1', 'content s1 A 2']);
  });

  it('does not say again what can never be taken', async () => {
    const { said, replies, session } = stage();
    replies.push({ ok: false, retryAfterMs: null });
    session.refresh();
    await vi.advanceTimersByTimeAsync(600_000);
    expect(said).toEqual(['content s1 A 0']);
  });

  it('takes its retries with it', async () => {
    const { said, replies, session, page } = stage();
    replies.push({ ok: false, retryAfterMs: 1_000 });
    session.refresh();
    await vi.advanceTimersByTimeAsync(10);
    page.extraction = ready('B');
    session.refresh();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(said).toEqual(['content s1 A 0', 'reset s1', 'content s2 B 0']);
  });

  it('can be started over', () => {
    const { said, session } = stage();
    session.refresh();
    session.restart();
    expect(said).toEqual(['content s1 A 0', 'reset s1', 'content s2 A 0']);
  });
});
