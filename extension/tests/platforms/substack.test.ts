/** Substack's rules, on pages loaded by a real browser under the site's own addresses. */
import { describe, expect, test } from 'vitest';
import { browser, outcomes } from './browser';
import { SUBSTACK, substack } from './pages';

const chromium = browser();
const { outcome, content } = outcomes(chromium);

describe('Substack', () => {
  const stated = (head: string): string => substack({ head });

  test('a post', async () => {
    const statistics = '[{"interactionType":{"@type":"https://schema.org/LikeAction"},"userInteractionCount":5}]';
    const found = await content(
      SUBSTACK,
      substack({
        head: `<meta name="twitter:site" content="@ada"><script type="application/ld+json">
          {"datePublished":"2026-01-02","isAccessibleForFree":true,"interactionStatistic":${statistics}}</script>`,
        before: '<time datetime="2020-01-01"></time>',
      }),
    );
    expect(found).toEqual({
      platform: 'SUBSTACK',
      externalId: '4711',
      url: SUBSTACK,
      contentText: 'Bread.',
      mediaState: 'text_only',
      imageUrls: [],
      imageOccurrences: [],
      metadata: {
        substackPostId: '4711',
        publicationSubdomain: 'letters',
        slug: 'on-bread',
        title: 'On bread',
        htmlContent: '<p>Bread.</p>',
        authorName: 'Ada',
        authorSubstackHandle: 'ada',
        publishedAt: '2026-01-02T00:00:00.000Z',
        likeCount: 5,
      },
    });
  });

  test.each([
    ['no author yet', substack().replace('"author"', '"x"'), 'hydrating'],
    [
      'the last post under the new address',
      stated('<meta property="og:url" content="https://letters.substack.com/p/last">'),
      'hydrating',
    ],
    ['the last post by its link', stated('<link rel="canonical" href="/p/last?x">'), 'hydrating'],
    [
      'the last post by its data',
      stated('<script type="application/ld+json">{"url":"https://letters.substack.com/p/last"}</script>'),
      'hydrating',
    ],
    ['no body yet', substack().replace('body markup', 'x'), 'hydrating'],
    ['no number', substack().replace('post_preview', 'x'), 'missing_identity'],
  ])('not ready: %s', async (_, html, reason) => {
    expect(await outcome(SUBSTACK, html)).toMatchObject({ kind: 'not_ready', reason });
  });

  test.each([
    ['nothing', '', false],
    ['the address of the publication', '<link rel="canonical" href="https://letters.substack.com/">', false],
    ['its own address', '<link rel="canonical" href="https://letters.substack.com/p/on-bread">', true],
    [
      'its own address in capitals',
      '<meta property="og:url" content="https://letters.substack.com/p/On%2Dbread">',
      true,
    ],
    ['its own address as data', '<script type="application/ld+json">{"mainEntityOfPage":"/p/on-bread"}</script>', true],
  ])('a page that states %s', async (_, head, isNamed) => {
    expect(await outcome(SUBSTACK, stated(head))).toMatchObject({ kind: 'ready', isNamed });
  });

  test('HTML too large to be sent is left out', async () => {
    const { contentText, metadata } = await content(SUBSTACK, substack({ body: '<b>x</b>'.repeat(33_000) }));
    expect([contentText.length, 'htmlContent' in metadata]).toEqual([33_000, false]);
  });

  const offer = '<a href="https://letters.substack.com/subscribe">Subscribe</a>';
  test.each([
    ['a paywall', { after: '<div class="paywall">This post is for paid subscribers</div>' }],
    ['a marked notice', { after: '<div data-testid="subscriber-only">Become a paid subscriber</div>' }],
    [
      'a notice to sign in',
      { before: `<div>Already a paid subscriber? <a href="/sign-in">Sign in</a> ${offer}</div>` },
    ],
    ['no text but an offer', { body: '', after: `<div>Subscribe to continue reading ${offer}</div>` }],
    [
      'a paid post in full',
      { head: '<script type="application/ld+json">{"isAccessibleForFree":false}</script>', body: '<p>All of it.</p>' },
    ],
  ])('gated: %s', async (_, parts) => {
    const gated = { kind: 'gated', platform: 'SUBSTACK', externalId: 'on-bread' };
    expect(await outcome(SUBSTACK, substack(parts))).toEqual(gated);
  });

  test.each([
    ['a post that quotes a paywall', { body: '<p>It said “Subscribe to continue reading”.</p>' }],
    ['a post that asks for support', { body: `<p>Good.</p><div>Become a paid subscriber ${offer}</div>` }],
    ['a hidden paywall', { after: '<div class="paywall" hidden>Become a paid subscriber</div>' }],
    ['a wall around other words', { after: '<div class="paywall-preview">Bread</div>' }],
  ])('not gated: %s', async (_, parts) => {
    expect(await outcome(SUBSTACK, substack(parts))).toMatchObject({ kind: 'ready' });
  });
});
