import { describe, expect, it } from 'vitest';

import { MAX_OCCURRENCES, toObservation, readContent } from '../../src/protocol/observation';
import { CONTENT } from '../background/fakes';

const common = { url: 'https://a.example/p', contentText: 'Words.', mediaState: 'text_only', imageUrls: [] };
const lesswrong = {
  ...common,
  platform: 'LESSWRONG',
  externalId: 'abc',
  metadata: { slug: 's', htmlContent: '<p>Words.</p>', tags: [], authorSlug: null },
};
const wikipedia = {
  ...common,
  platform: 'WIKIPEDIA',
  externalId: 'de:7',
  metadata: { language: 'de', title: 'Mond', pageId: '7', revisionId: '8', lastModifiedAt: '2026-01-01T00:00:00Z' },
};
const substack = {
  ...common,
  platform: 'SUBSTACK',
  externalId: '9',
  metadata: { substackPostId: '9', publicationSubdomain: 'p', slug: 's', title: 't', authorName: 'a', likeCount: 0 },
};

const picture = (index: number) => ({
  originalIndex: index,
  normalizedTextOffset: 0,
  sourceUrl: 'https://a.example/i.png',
});
const sent = (content: unknown) => toObservation(readContent(content, 'content'));

describe('what is sent', () => {
  it('is HTML instead of text for LessWrong', () => {
    const { contentText: _, mediaState: __, imageUrls: ___, ...rest } = lesswrong;
    expect(sent(lesswrong)).toEqual(rest);
  });

  it('is without an id for Wikipedia', () => {
    expect(sent(wikipedia)).toEqual({
      platform: 'WIKIPEDIA',
      url: common.url,
      observedContentText: 'Words.',
      metadata: wikipedia.metadata,
    });
  });

  it('is everything for Substack and X', () => {
    expect(sent(substack)).toMatchObject({ externalId: '9', observedContentText: 'Words.' });
    expect(sent(CONTENT)).toMatchObject({ externalId: '20', observedContentText: CONTENT.contentText });
  });

  it('has pictures where there are any, the first 256 of them', () => {
    const imageOccurrences = Array.from({ length: MAX_OCCURRENCES + 44 }, (_, index) => picture(index));
    const content = { ...substack, mediaState: 'has_images', imageUrls: [picture(0).sourceUrl], imageOccurrences };
    const request = sent(content) as { observedImageUrls: unknown; observedImageOccurrences: unknown[] };
    expect(request.observedImageUrls).toEqual([picture(0).sourceUrl]);
    expect(request.observedImageOccurrences).toHaveLength(MAX_OCCURRENCES);
  });

  it('is without the pictures that one browser alone can show', () => {
    const web = picture(1).sourceUrl;
    const imageUrls = ['chrome-extension://abc/icon.png', web, 'blob:https://a.example/1', 'file:///C:/i.png'];
    const imageOccurrences = imageUrls.map((sourceUrl, index) => ({ ...picture(index), sourceUrl }));
    const shown = { mediaState: 'has_images', imageUrls, imageOccurrences };
    expect(sent({ ...substack, ...shown })).toMatchObject({
      observedImageUrls: [web],
      observedImageOccurrences: [{ ...picture(0), sourceUrl: web }],
    });
    const onX = { ...CONTENT, ...shown, metadata: { ...CONTENT.metadata, mediaUrls: imageUrls } };
    expect(sent(onX)).toMatchObject({ metadata: { mediaUrls: [web] } });
  });
});

describe('what is refused', () => {
  it.each([
    ['a platform nobody knows', { ...lesswrong, platform: 'MASTODON' }],
    ['another platform’s metadata', { ...lesswrong, metadata: wikipedia.metadata }],
    ['a field too many', { ...lesswrong, extra: 1 }],
    ['metadata too many', { ...lesswrong, metadata: { ...lesswrong.metadata, karma: 3 } }],
    ['null for what is unknown', { ...wikipedia, metadata: { ...wikipedia.metadata, displayTitle: null } }],
    ['an address that is none', { ...substack, url: 'javascript:0' }],
    ['no text', { ...substack, contentText: '' }],
    ['too much text', { ...substack, contentText: 'a'.repeat(500_001) }],
    ['too many bytes', { ...substack, contentText: 'é'.repeat(250_001) }],
    ['an id that is not digits', { ...substack, metadata: { ...substack.metadata, substackPostId: '9a' } }],
    ['a picture elsewhere', { ...substack, imageOccurrences: [{ ...picture(0), normalizedTextOffset: -1 }] }],
  ])('%s', (_, content) => expect(() => readContent(content, 'content')).toThrow('content'));

  it('but not text of exactly the limit', () => {
    expect(() => readContent({ ...substack, contentText: 'é'.repeat(250_000) }, 'content')).not.toThrow();
  });
});
