/** Each site's rules, on pages loaded by a real browser under the site's own addresses. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { browser } from './browser';
import {
  LESSWRONG,
  SUBSTACK,
  TWEET,
  WIKIPEDIA,
  lesswrong,
  lesswrongPost,
  page,
  substack,
  tweet,
  wikipedia,
} from './pages';

const chromium = browser();

/** The same cases as the server's rule is tested with. */
const VIDEO_CASES = JSON.parse(readFileSync(new URL('../../../tests/cases/video.json', import.meta.url), 'utf8')) as {
  html: string;
  video: boolean;
}[];

async function outcome(url: string, html: string): Promise<any> {
  await chromium().open(url, html);
  return (await chromium().ask('outcome', [null]))[0];
}

async function content(url: string, html: string): Promise<any> {
  const found = await outcome(url, html);
  expect(found).toMatchObject({ kind: 'ready' });
  return found.content;
}

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

describe('Wikipedia', () => {
  const INDEX = 'https://de.wikipedia.org/w/index.php?title=Brot';

  test('an article, mobile', async () => {
    const url = 'https://de.m.wikipedia.org/wiki/Brot';
    const body = `<p>Brot<sup class="reference">[1]</sup> ist alt.</p><h2>Siehe auch</h2><p>Mehl</p><img src="//a.example/b.png">
      <div class="mw-heading"><h2>Einzelnachweise</h2></div><section><p>Quelle</p></section>`;
    const found = await content(url, wikipedia({ body }, { wgRevisionTimestamp: '20260102030405' }));
    expect(found).toMatchObject({
      platform: 'WIKIPEDIA',
      externalId: 'de:12',
      url,
      contentText: 'Brot ist alt. Siehe auch Mehl',
      mediaState: 'has_images',
      imageOccurrences: [{ originalIndex: 0, normalizedTextOffset: 29, sourceUrl: 'https://a.example/b.png' }],
    });
    expect(found.metadata).toMatchObject({
      language: 'de',
      title: 'Brot',
      pageId: '12',
      revisionId: '34',
      displayTitle: 'Brot',
      lastModifiedAt: '2026-01-02T03:04:05.000Z',
    });
    expect(found.metadata.htmlContent).not.toContain('Quelle');
  });

  test.each([
    ['de', 'Brot. Notes et sources Notes Portail'],
    ['fr', 'Brot. Nachweise Quelle. Leiste.'],
  ])('an article whose element does not say that it is %s', async (language, text) => {
    const body = `<p>Brot.</p><h2>Nachweise</h2><p>Quelle.</p><div class="NavFrame">Leiste.</div><h2>Notes et sources</h2>
      <p>Notes</p><ul class="bandeau-portail"><li>Portail</ul>`;
    const html = wikipedia({ body }).replace(/ lang="[a-z]+"/g, '');
    const found = await content(`https://${language}.wikipedia.org/wiki/Brot`, html);
    expect(found.contentText).toBe(text);
  });

  test.each([`${INDEX}&action=view`, `${INDEX}&oldid=34`, `${WIKIPEDIA}?redirect=no`])(
    'to be read: %s',
    async (url) => {
      expect((await content(url, wikipedia({}, { wgAction: 'view' }))).externalId).toBe('de:12');
    },
  );

  test('the numbers in a call that sets them', async () => {
    const html = wikipedia().replace(/RLCONF=(.*?);</, 'mw = {config: {set() {}}}; mw.config.set($1);<');
    expect((await content('https://de.wikipedia.org/?curid=12', html)).metadata.title).toBe('Brot');
  });

  test('elements that pose as variables', async () => {
    const html = wikipedia({ body: '<p id="mw">Brot.</p><a id="RLCONF" name="config">x</a>' });
    expect((await content(WIKIPEDIA, html)).externalId).toBe('de:12');
  });

  test('words that look like the numbers', async () => {
    const html = wikipedia({}, { aTitle: '","wgArticleId":99,"', wgArticleId: 12 });
    expect((await content(WIKIPEDIA, html)).externalId).toBe('de:12');
  });

  test.each([
    [
      'a talk page',
      'https://de.wikipedia.org/wiki/Diskussion:Brot',
      wikipedia({}, { wgNamespaceNumber: 1 }),
      'unsupported',
    ],
    ['an English talk page', 'https://en.wikipedia.org/wiki/Talk:Bread', wikipedia(), 'missing_identity'],
    [
      'an unsaved draft',
      `${INDEX}&action=submit`,
      wikipedia({}, { wgAction: 'submit', wgRevisionId: 0 }),
      'unsupported',
    ],
    ['a draft by its own word', WIKIPEDIA, wikipedia({}, { wgAction: 'submit' }), 'unsupported'],
    ['an editor', `${INDEX}&action=edit`, wikipedia(), 'unsupported'],
    ['an editor in the page', `${WIKIPEDIA}?veaction=edit`, wikipedia(), 'unsupported'],
    ['a history', `${INDEX}&action=history`, wikipedia(), 'unsupported'],
    ['a comparison', `${INDEX}&diff=34&oldid=33`, wikipedia(), 'unsupported'],
    ['a comparison by its own word', WIKIPEDIA, wikipedia({}, { wgDiffNewId: 34 }), 'unsupported'],
    ['a revision that is not stored', WIKIPEDIA, wikipedia({}, { wgRevisionId: 0 }), 'missing_identity'],
    ['no revision', WIKIPEDIA, wikipedia({}, { wgRevisionId: null }), 'missing_identity'],
    ['no words', WIKIPEDIA, wikipedia({ body: '<div class="navbox">x</div>' }), 'unsupported'],
    ['no article yet', WIKIPEDIA, wikipedia().replace('mw-content-text', 'x'), 'hydrating'],
  ])('not ready: %s', async (_, url, html, reason) => {
    expect(await outcome(url, html)).toMatchObject({ kind: 'not_ready', reason });
  });

  test.each(['<video></video>', '<audio></audio>', '<span class="mw-tmh-play">x</span>'])(
    'media: %s',
    async (media) => {
      expect((await content(WIKIPEDIA, wikipedia({ body: `<p>Brot.</p>${media}` }))).mediaState).toBe('has_video');
    },
  );
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
