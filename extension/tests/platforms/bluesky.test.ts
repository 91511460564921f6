/** Which words of a thread on Bluesky are the post's, and which pages are not read at all. */
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';

import type { PageContent } from '../../src/platforms';
import { bluesky, blueskyHead, DID, HANDLE, KEY, POST, type Shown, words } from './bluesky_page';
import { browser, outcomes } from './browser';

interface Case extends Shown {
  name: string;
  text: string;
}

const read = (name: string): unknown =>
  JSON.parse(readFileSync(new URL(`../../../tests/cases/${name}.json`, import.meta.url), 'utf8'));

/** The same records as the server's rule is tested with: our own, and recorded ones with words of ours. */
const CASES = [...(read('bluesky_posts') as Case[]), ...(read('bluesky_recorded') as { posts: Case[] }).posts];

const { outcome, content: ready } = outcomes(browser());
const content = async (url: string, html: string) => (await ready(url, html)) as PageContent;
const TEA: Shown = { record: { text: 'Tea is “old”.' } };
const MEMBERS_ONLY =
  '<meta name="description" content="This author has chosen to make their posts visible only to people who are signed in.">';

test.each(CASES)('the words of a record: $name', async (shown) => {
  const found = await content(POST, bluesky(shown));
  expect(found.contentText).toBe(shown.text);
  expect(found.imageOccurrences.map(({ captionText }) => captionText)).toEqual(
    (shown.record.embed?.images ?? shown.record.embed?.media?.images ?? []).map(({ alt }) => alt || undefined),
  );
});

describe('a post', () => {
  test('is named by its author and its key', async () => {
    expect(await content(POST, bluesky(TEA))).toEqual({
      platform: 'BLUESKY',
      externalId: `${DID}/${KEY}`,
      url: POST,
      contentText: 'Tea is "old".',
      mediaState: 'text_only',
      imageUrls: [],
      imageOccurrences: [],
      metadata: { authorDid: DID, authorHandle: HANDLE },
    });
  });

  test.each([
    ['an address with the DID', POST.replace(HANDLE, DID), bluesky({ ...TEA, avatar: false })],
    [
      'an address with the DID, escaped',
      POST.replace(HANDLE, encodeURIComponent(DID)),
      bluesky({ ...TEA, avatar: false }),
    ],
    ['an address in capitals', POST.replace(HANDLE, HANDLE.toUpperCase()), bluesky(TEA)],
    ['an author without a picture', POST, bluesky({ ...TEA, avatar: false }, blueskyHead())],
    ['a post that no one liked yet', POST, page(blueskyHead())],
  ])('from %s', async (_, url, html) => {
    expect(await content(url, html)).toMatchObject({ externalId: `${DID}/${KEY}`, contentText: 'Tea is "old".' });
  });

  test('of an author who is shown to members only is gated', async () => {
    const head = blueskyHead() + MEMBERS_ONLY;
    expect(await outcome(POST, bluesky(TEA, head))).toEqual({
      kind: 'gated',
      platform: 'BLUESKY',
      externalId: `${HANDLE}/${KEY}`,
    });
    const left = blueskyHead(undefined, `${POST}x`) + MEMBERS_ONLY;
    expect(await outcome(POST, bluesky(TEA, left))).toMatchObject({ kind: 'ready' });
  });

  test('with a video', async () => {
    expect((await content(POST, bluesky({ ...TEA, after: '<video></video>' }))).mediaState).toBe('has_video');
  });
});

test.each([
  ['a thread without the post', POST.replace(KEY, `${KEY}x`), bluesky(TEA), 'missing_identity'],
  [
    'a post that only the head names, among others',
    POST,
    bluesky({ ...TEA, likes: 0 }, blueskyHead()),
    'missing_identity',
  ],
  ['an author whose DID is nowhere', POST, bluesky({ ...TEA, avatar: false }), 'missing_identity'],
  [
    'a head of the page before',
    POST,
    bluesky({ ...TEA, avatar: false }, blueskyHead(`at://${DID}/app.bsky.feed.post/x`)),
    'missing_identity',
  ],
  [
    'a page that is being loaded',
    POST,
    `<!doctype html><html><head>${blueskyHead()}</head><body></body></html>`,
    'hydrating',
  ],
  [
    'no words of its own',
    POST,
    bluesky({ record: { text: '', embed: { $type: 'q' } }, quoted: 'Another’s.' }),
    'unsupported',
  ],
  ['a translation beside the words', POST, bluesky({ ...TEA, after: words('Tee ist alt.') }), 'ambiguous_dom'],
  ['words that are cut', POST, cut(), 'ambiguous_dom'],
  ['reader view', POST, bluesky(TEA, '', `<div>${words('The next post of the thread.')}</div>`), 'ambiguous_dom'],
])('not ready: %s', async (_, url, html, reason) => {
  expect(await outcome(url, html)).toMatchObject({ kind: 'not_ready', reason });
});

test.each([
  'https://bsky.app/',
  `https://bsky.app/profile/${HANDLE}`,
  `${POST}/liked-by`,
  POST.replace('bsky.app', 'bsky.app.example'),
  POST.replace('bsky.app', 'other.bsky.app'),
])('no post: %s', async (url) => {
  expect(await outcome(url, bluesky(TEA))).toBeNull();
});

/** The post alone on its page. */
function page(head: string): string {
  return bluesky({ ...TEA, likes: 0 }, head).replace(
    /<div><div data-testid="postThreadItem-by-(?:parent|reply).*?<\/div><\/div>(?=<|$)/gs,
    '',
  );
}

function cut(): string {
  const style = 'display:-webkit-box;-webkit-box-orient:vertical;-webkit-line-clamp:25;overflow:hidden';
  return bluesky(TEA).replace('style="">Tea', `style="${style}">Tea`);
}
