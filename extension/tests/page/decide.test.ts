import { describe, expect, it } from 'vitest';

import {
  versionPauseMs,
  decide,
  exceedsWords,
  showsPreviousPost,
  retryAfterMs,
  sameVersion,
  WORD_LIMIT,
} from '../../src/page/decide';
import { noHtml, type Extraction, type PageContent } from '../../src/platforms/base';

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
  return {
    kind: 'ready',
    content: content(change),
    html: noHtml,
    root: {} as Element,
    excluded: () => false,
    isNamed: true,
  };
}

const post = { platform: 'LESSWRONG', externalId: 'abc' } as const;

describe('what to do about a page', () => {
  it.each([
    [
      { kind: 'gated', ...post },
      { kind: 'skip', reason: 'private_or_gated', post, final: false },
    ],
    [{ kind: 'gated', platform: 'X' }, { kind: 'nothing' }],
    [{ kind: 'not_ready', reason: 'hydrating', identityGuess: post }, { kind: 'wait' }],
    [{ kind: 'not_ready', reason: 'ambiguous_dom', identityGuess: post }, { kind: 'wait' }],
    [{ kind: 'not_ready', reason: 'missing_identity' }, { kind: 'nothing' }],
    [{ kind: 'not_ready', reason: 'hydrating' }, { kind: 'wait' }],
    [
      { kind: 'not_ready', reason: 'unsupported', identityGuess: post },
      { kind: 'skip', reason: 'unsupported_content', post, final: false },
    ],
    [ready({ contentText: '' }), { kind: 'skip', reason: 'no_text', post, final: false }],
    [ready({ mediaState: 'has_video' }), { kind: 'skip', reason: 'has_video', post, final: true }],
    [ready({ contentText: '', mediaState: 'has_video' }), { kind: 'skip', reason: 'no_text', post, final: false }],
    [ready({ contentText: 'w '.repeat(WORD_LIMIT) + 'w' }), { kind: 'skip', reason: 'word_count', post, final: true }],
    [ready(), { kind: 'send', content: content() }],
  ] as [Extraction, unknown][])('%#', (extraction, decision) => {
    expect(decide(extraction)).toEqual(decision);
  });

  it('counts words up to the limit', () => {
    expect(exceedsWords('', 0)).toBe(false);
    expect(exceedsWords('one', 0)).toBe(true);
    expect(exceedsWords('one two three', 3)).toBe(false);
    expect(exceedsWords('one two three four', 3)).toBe(true);
    expect(exceedsWords('w '.repeat(3_000_000), 10)).toBe(true);
  });
});

describe('a version', () => {
  const place = { originalIndex: 0, normalizedTextOffset: 0, sourceUrl: 'https://x.test/i.png' };

  it('is what the post says and shows, not what the site says about it', () => {
    expect(sameVersion(content({ metadata: { title: 'a' }, url: 'https://x.test/' }), content())).toBe(true);
    const pictures = { imageOccurrences: [{ ...place, captionText: 'A' }] };
    expect(sameVersion(content(pictures), content(structuredClone(pictures)))).toBe(true);
  });

  it.each([
    { externalId: 'abd' },
    { platform: 'SUBSTACK' },
    { contentText: 'Some word.' },
    { mediaState: 'has_images' },
    { imageOccurrences: [] },
    { imageOccurrences: [{ ...place, originalIndex: 1 }] },
    { imageOccurrences: [{ ...place, normalizedTextOffset: 1 }] },
    { imageOccurrences: [{ ...place, sourceUrl: 'https://x.test/j.png' }] },
    { imageOccurrences: [{ ...place, captionText: 'A' }] },
  ] as Partial<PageContent>[])('differs for %j', (change) => {
    const one = content({ imageOccurrences: [place] });
    expect(sameVersion({ ...one, ...change }, one)).toBe(false);
    expect(sameVersion(one, { ...one, ...change })).toBe(false);
  });

  it('is left over from another address when its head or its words are', () => {
    expect(showsPreviousPost(content({ contentText: 'New.' }), content())).toBe(true);
    expect(showsPreviousPost(content({ externalId: 'new' }), content())).toBe(true);
    expect(showsPreviousPost(content({ externalId: 'new', contentText: 'New.' }), content())).toBe(false);
  });

  it('is looked for more rarely the more there have been', () => {
    expect([1, 2, 3, 4, 5, 9, 99].map(versionPauseMs)).toEqual([0, 0, 30e3, 60e3, 120e3, 600e3, 600e3]);
  });
});

it('waits longer after each failure, up to half a minute', () => {
  expect([0, 1, 2, 3, 4, 5, 6, 50].map(retryAfterMs)).toEqual([1e3, 2e3, 4e3, 8e3, 16e3, 30e3, 30e3, 30e3]);
});
