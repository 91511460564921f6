/** Which site a page belongs to, and the shorter sites' rules, on pages loaded by a real browser under true addresses. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { browser, outcomes } from './browser';
import { LESSWRONG, TWEET, WIKIPEDIA, lesswrong, lesswrongPost, page, substack, tweet, wikipedia } from './pages';

const chromium = browser();
const { outcome, content } = outcomes(chromium);

/** The same cases as the server's rule is tested with. */
const VIDEO_CASES = JSON.parse(readFileSync(new URL('../../../tests/cases/video.json', import.meta.url), 'utf8')) as {
  html: string;
  video: boolean;
}[];

describe('which site a page belongs to', () => {
  test.each([
    ['https://www.lesswrong.com/about', lesswrong()],
    ['https://x.com/ada', tweet()],
    ['https://letters.substack.com/archive', substack()],
    ['https://notwikipedia.org/wiki/Brot', wikipedia()],
    ['https://lesswrong.com.example/posts/Ab12', lesswrong()],
    ['https://bread.example/p/on-bread', substack()],
    ['https://bread.example/about', substack({ head: '<link href="https://substackcdn.com/a.css">' })],
  ])('none: %s', async (url, html) => {
    expect(await outcome(url, html)).toBeNull();
  });

  test.each([
    '<link rel="preload" href="https://substackcdn.com/a.css">',
    '<script src="https://substackcdn.com/a.js"></script>',
    '<meta property="og:url" content="https://letters.substack.com/p/on-bread">',
    '<meta name="twitter:image" content="https://letters.substack.com/post_preview/4711/twitter.jpg">',
  ])("a publication's own domain with Substack's fingerprint %s", async (head) => {
    const found = await content('https://bread.example/p/on-bread', substack({ head }));
    expect(found).toMatchObject({ platform: 'SUBSTACK', externalId: '4711' });
    expect(found.metadata.publicationSubdomain).toBe('letters');
  });
});

describe('LessWrong', () => {
  test('a post', async () => {
    const found = await content(
      LESSWRONG,
      lesswrong({
        head: '<meta property="article:published_time" content="2026-01-02T03:04:05Z">',
        before:
          '<span class="PostsAuthors-authorName"><a href="/users/ada?from=x">Ada  L</a></span><a href="/tag/food">Food</a>',
        body: '<div class="LinkPostMessage-root">linked</div><p>One</p><p>two<img src="/i.png" alt="a loaf"></p><style>p{}</style>three',
      }),
    );
    expect(found).toEqual({
      platform: 'LESSWRONG',
      externalId: 'Ab12',
      url: LESSWRONG,
      contentText: 'One two three',
      mediaState: 'has_images',
      imageUrls: ['https://www.lesswrong.com/i.png'],
      imageOccurrences: [
        {
          originalIndex: 0,
          normalizedTextOffset: 7,
          sourceUrl: 'https://www.lesswrong.com/i.png',
          captionText: 'a loaf',
        },
      ],
      metadata: {
        slug: 'a-slug',
        title: 'On bread',
        htmlContent: '<p>One</p><p>two<img src="/i.png" alt="a loaf"></p><style>p{}</style>three',
        authorName: 'Ada L',
        authorSlug: 'ada',
        tags: ['Food'],
        publishedAt: '2026-01-02T03:04:05.000Z',
      },
    });
  });

  test.each([
    ['the body of the post that was left', lesswrongPost({}, 'Other'), 'hydrating'],
    ['a hidden body', lesswrongPost({}, 'Ab12', 'visibility:hidden'), 'hydrating'],
    ['no body yet', '<div id="postBody"></div>', 'hydrating'],
    ['two bodies of the post', lesswrongPost() + lesswrongPost(), 'ambiguous_dom'],
  ])('not ready: %s', async (_, body, reason) => {
    const identityGuess = { platform: 'LESSWRONG', externalId: 'Ab12' };
    expect(await outcome(LESSWRONG, page('', body))).toEqual({ kind: 'not_ready', reason, identityGuess });
  });

  test('the right one of two bodies', async () => {
    const html = page('', lesswrongPost({ body: 'Old.' }, 'Other') + lesswrongPost({ body: 'New.' }));
    expect((await content(LESSWRONG, html)).contentText).toBe('New.');
  });

  test.each(VIDEO_CASES)('media: $html', async ({ html, video }) => {
    const state = (await content(LESSWRONG, lesswrong({ body: `<p>Words.</p>${html}` }))).mediaState;
    expect(state).toBe(video ? 'has_video' : 'text_only');
  });
});

describe('X', () => {
  test('a post', async () => {
    const picture = '<div data-testid="tweetPhoto"><img src="/media/1.jpg"></div>';
    const found = await content(TWEET, tweet({ body: 'One<br>two “three”', after: picture }));
    expect(found).toEqual({
      platform: 'X',
      externalId: '77',
      url: TWEET,
      contentText: 'Onetwo "three"',
      mediaState: 'has_images',
      imageUrls: ['https://x.com/media/1.jpg'],
      imageOccurrences: [{ originalIndex: 0, normalizedTextOffset: 14, sourceUrl: 'https://x.com/media/1.jpg' }],
      metadata: {
        authorHandle: 'ada',
        authorDisplayName: 'Ada @ada',
        text: 'Onetwo "three"',
        mediaUrls: ['https://x.com/media/1.jpg'],
        postedAt: '2026-03-04T05:06:07.000Z',
      },
    });
  });

  test('the author of an address without one', async () => {
    const found = await content('https://twitter.com/i/web/status/77', tweet());
    expect(found.metadata.authorHandle).toBe('ada');
  });

  test.each([
    [
      'two elements of the post',
      tweet({ before: '<article><a href="/ada/status/77">x</a></article>' }),
      'ambiguous_dom',
    ],
    ['only other posts', tweet({}, '/ada/status/76'), 'missing_identity'],
    ['an empty column', page('<link rel="canonical" href="/ada/status/77">', ''), 'hydrating'],
    ['a post without words', tweet().replace('tweetText', 'none'), 'unsupported'],
    [
      "only a quoted post's words",
      tweet({ after: '<div role="link"><div data-testid="tweetText">Another\'s.</div></div>' }).replace(
        'tweetText',
        'none',
      ),
      'unsupported',
    ],
  ])('not ready: %s', async (_, html, reason) => {
    expect(await outcome(TWEET, html)).toMatchObject({ kind: 'not_ready', reason });
  });

  test('the one post of a page that says which it is', async () => {
    const html = tweet({ head: '<link rel="canonical" href="/ada/status/77">' }, '/somewhere');
    expect((await content(TWEET, html)).externalId).toBe('77');
  });

  test('a protected post', async () => {
    const html = page('', '<div data-testid="primaryColumn">This account’s posts are protected.</div>');
    expect(await outcome(TWEET, html)).toEqual({ kind: 'gated', platform: 'X', externalId: '77' });
  });

  test('a post that speaks of protected posts', async () => {
    expect((await content(TWEET, tweet({ body: 'These posts are protected' }))).externalId).toBe('77');
  });

  test('a video', async () => {
    const found = await content(TWEET, tweet({ after: '<div data-testid="videoPlayer"></div>' }));
    expect(found.mediaState).toBe('has_video');
  });
});

describe('reading a page', () => {
  test('leaves it as it was', async () => {
    const body = '<div class="navbox">n</div><p>Brot.</p><h2>Quellen</h2><p>q</p><img src="a.png">';
    await chromium().open(WIKIPEDIA, wikipedia({ body }));
    const [before] = await chromium().ask('markup', [null]);
    expect(before).toContain('navbox');
    await chromium().ask('outcome', [null]);
    expect(await chromium().ask('markup', [null])).toEqual([before]);
  });

  test('nested deeper than calls may be', async () => {
    await chromium().openBlank();
    expect(await chromium().ask('nestedText', [{ depth: 12_000 }])).toEqual(['deep']);
  });
});
