import { describe, expect, it } from 'vitest';

import { decide, exceedsWords, retryAfterMs, sessionKey, WORD_LIMIT } from '../../src/page/decide';
import type { Adapter, Extraction, PageContent } from '../../src/platforms/base';

const adapter = {} as Adapter;

function content(change: Partial<PageContent> = {}): PageContent {
  return {
    platform: 'LESSWRONG',
    externalId: 'abc',
    url: 'https://www.lesswrong.com/posts/abc/x',
    contentText: 'Some words.',
    mediaState: 'text_only',
    imageUrls: [],
    imageOccurrences: [],
    metadata: {},
    ...change,
  };
}

function ready(change: Partial<PageContent> = {}): Extraction {
  return { kind: 'ready', content: content(change), root: {} as Element, excluded: () => false };
}

const post = { platform: 'LESSWRONG', externalId: 'abc' } as const;

describe('what to do about a page', () => {
  it('nothing where no site is recognised, without reading it', () => {
    const read = (): Extraction => {
      throw new Error('must not be read');
    };
    expect(decide(null, read)).toEqual({ kind: 'nothing' });
  });

  it.each([
    [{ kind: 'gated', ...post }, { kind: 'skip', reason: 'private_or_gated', post, final: false }],
    [{ kind: 'gated', platform: 'X' }, { kind: 'nothing' }],
    [{ kind: 'not_ready', reason: 'hydrating', identityGuess: post }, { kind: 'wait' }],
    [{ kind: 'not_ready', reason: 'ambiguous_dom', identityGuess: post }, { kind: 'wait' }],
    [{ kind: 'not_ready', reason: 'missing_identity' }, { kind: 'wait' }],
    [
      { kind: 'not_ready', reason: 'unsupported', identityGuess: post },
      { kind: 'skip', reason: 'unsupported_content', post, final: false },
    ],
    [ready({ contentText: '' }), { kind: 'skip', reason: 'no_text', post, final: false }],
    [ready({ mediaState: 'has_video' }), { kind: 'skip', reason: 'has_video', post, final: true }],
    [ready({ contentText: '', mediaState: 'has_video' }), { kind: 'skip', reason: 'no_text', post, final: false }],
    [
      ready({ contentText: 'w '.repeat(WORD_LIMIT) + 'w' }),
      { kind: 'skip', reason: 'word_count', post, final: true },
    ],
    [ready(), { kind: 'send', content: content() }],
  ] as [Extraction, unknown][])('%#', (extraction, decision) => {
    expect(decide(adapter, () => extraction)).toEqual(decision);
  });

  it('counts words up to the limit', () => {
    expect(exceedsWords('', 0)).toBe(false);
    expect(exceedsWords('one', 0)).toBe(true);
    expect(exceedsWords('one two three', 3)).toBe(false);
    expect(exceedsWords('one two three four', 3)).toBe(true);
    expect(exceedsWords('w '.repeat(3_000_000), 10)).toBe(true);
  });
});

describe('a session key', () => {
  it('is of the version, not of what the site says about it', () => {
    expect(sessionKey(content({ metadata: { title: 'a' }, url: 'https://x.test/' }))).toBe(sessionKey(content()));
  });

  it.each([
    { externalId: 'abd' },
    { platform: 'SUBSTACK' },
    { contentText: 'Some word.' },
    { mediaState: 'has_images' },
    { imageOccurrences: [{ originalIndex: 0, normalizedTextOffset: 0, sourceUrl: 'https://x.test/i.png' }] },
  ] as Partial<PageContent>[])('differs for %j', (change) => {
    expect(sessionKey(content(change))).not.toBe(sessionKey(content()));
  });
});

it('waits longer after each failure, up to half a minute', () => {
  expect([0, 1, 2, 3, 4, 5, 6, 50].map(retryAfterMs)).toEqual([1e3, 2e3, 4e3, 8e3, 16e3, 30e3, 30e3, 30e3]);
});
