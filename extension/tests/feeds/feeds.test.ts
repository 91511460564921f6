// @vitest-environment happy-dom
import { beforeEach, describe, expect, it, vi } from 'vitest';

import { feedFor } from '../../src/feeds';
import { findPost, inView, isReadable, matches, readWords, type Feed, type Post } from '../../src/feeds/base';
import { BLUESKY } from '../../src/feeds/bluesky';
import { THREADS } from '../../src/feeds/threads';
import { requirement } from '../requirement';
import { blueskyAnchor, blueskyPost, blueskySegment, CANARIES, threadsPost, WORDS } from './pages';

interface Window {
  readonly happyDOM: { setURL(url: string): void };
}

function open(url: string, html: string): void {
  (window as unknown as Window).happyDOM.setURL(url);
  document.documentElement.className = '';
  document.body.innerHTML = html;
}

/** What is found from every node of the first post on the page. */
function read(feed: Feed): Post | string {
  const [element] = feed.elements(document);
  if (element === undefined) return 'none';
  const found = feed.at(element)!;
  for (const node of element.querySelectorAll('*')) expect(feed.at(node)).toEqual(found);
  return isReadable(found) ? found : found.reason;
}

const FEED = 'https://bsky.app/';
const THREAD = 'https://bsky.app/profile/canary-handle.example/post/3own';
const OWN = 'https://bsky.app/profile/canary-handle.example/post/3own';

/** happy-dom knows no line clamps. */
function clamp(): void {
  const styleOf = window.getComputedStyle.bind(window);
  vi.spyOn(window, 'getComputedStyle').mockImplementation((element) => {
    const style = styleOf(element);
    if (element.hasAttribute('data-cut'))
      vi.spyOn(style, 'getPropertyValue').mockImplementation((name) => (name === '-webkit-line-clamp' ? '25' : ''));
    return style;
  });
}

beforeEach(() => open('https://bsky.app/', ''));

describe('the words of a post', () => {
  it(requirement('FS-2', "Only the post's own words are sent"), () => {
    const pages: [string, Feed, string, string][] = [
      [FEED, BLUESKY, blueskyPost(), OWN],
      ['https://bsky.app/search?q=tower', BLUESKY, blueskyPost({ testId: '' }), OWN],
      [THREAD, BLUESKY, blueskyPost({ testId: 'postThreadItem-by-canary-handle.example' }), OWN],
      [THREAD, BLUESKY, blueskyAnchor(), OWN],
      [
        'https://bsky.app/profile/did:plc:abc/post/3own',
        BLUESKY,
        blueskyAnchor(),
        'https://bsky.app/profile/did:plc:abc/post/3own',
      ],
      ['https://www.threads.com/', THREADS, threadsPost(), 'https://www.threads.com/@canary-handle/post/Cown'],
      ['https://www.threads.net/@x', THREADS, threadsPost(), 'https://www.threads.com/@canary-handle/post/Cown'],
    ];
    for (const [url, feed, html, permalink] of pages) {
      open(url, html);
      for (const canary of CANARIES.filter((one) => html.includes(one)))
        expect(document.documentElement.outerHTML).toContain(canary);
      const found = read(feed);
      expect(found).toMatchObject({ words: WORDS, permalink, site: feed.site });
      for (const canary of CANARIES) expect((found as Post).words).not.toContain(canary);
    }
  });

  it('are not named by a link to another site', () => {
    open(FEED, blueskyPost().replace('<div>', '<div><a href="https://other.example/profile/a.b/post/3x"></a>'));
    expect(read(BLUESKY)).toMatchObject({ words: WORDS, permalink: OWN });
  });

  it('need no link among them', () => {
    open(FEED, blueskyPost({ words: 'Plain words.' }));
    expect(read(BLUESKY)).toMatchObject({ words: 'Plain words.' });
  });

  it('keep their lines, and nothing of how they are laid out', () => {
    open(FEED, '<p id="own">  one\n two<br><br><br><br>three <b>f</b>our</p>');
    expect(readWords(document.getElementById('own')!)).toBe('one two\n\nthree four');
  });
});

describe('a post that cannot be read', () => {
  it(requirement('FS-45', 'A post without a permalink, or with cut words, is not sent'), () => {
    clamp();
    const threads = 'https://www.threads.com/';
    const twice = '<div><span dir="auto">One.</span></div><div><span dir="auto">Another.</span></div>';
    const cases: [string, Feed, string, string][] = [
      [FEED, BLUESKY, blueskyPost({ linked: false }), 'no_permalink'],
      ['https://bsky.app/profile/someone.else/post/3own', BLUESKY, blueskyAnchor(), 'no_permalink'],
      ['https://bsky.app/notifications', BLUESKY, blueskyAnchor(), 'no_permalink'],
      [FEED, BLUESKY, blueskyPost({ attributes: 'data-cut' }), 'cut'],
      [FEED, BLUESKY, blueskyPost({ words: '<font>Ein Turm</font>' }), 'translated'],
      [FEED, BLUESKY, blueskyPost({ words: ' ' }), 'no_words'],
      [FEED, BLUESKY, blueskyPost({ words: 'One.</div><div data-word-wrap="1">Another.' }), 'ambiguous'],
      [threads, THREADS, threadsPost({ linked: false }), 'no_permalink'],
      [threads, THREADS, threadsPost({ body: '' }), 'no_words'],
      [threads, THREADS, threadsPost({ body: twice }), 'ambiguous'],
      [threads, THREADS, threadsPost({ body: '<span dir="auto">Begins <div role="button">more</div></span>' }), 'cut'],
      [
        threads,
        THREADS,
        threadsPost({ body: '<span dir="auto">Ein Turm</span><div role="button">See original</div>' }),
        'translated',
      ],
      [threads, THREADS, threadsPost({ body: '<span dir="auto"><font>Ein Turm</font></span>' }), 'translated'],
    ];
    for (const [url, feed, html, reason] of cases) {
      open(url, html);
      const found = read(feed);
      expect([html, typeof found === 'string' ? found : found.words]).toEqual([html, reason]);
    }
  });

  it('is every later post of the reader view', () => {
    open(THREAD, `${blueskyAnchor()}${blueskySegment()}`);
    expect(read(BLUESKY)).toMatchObject({ words: WORDS });
    const segment = document.querySelector('.segment [data-word-wrap]')!;
    expect(BLUESKY.at(segment)).toEqual({ element: segment, reason: 'no_permalink' });
    expect(BLUESKY.elements(document)).toHaveLength(1);
  });

  it('is a post of pictures that quotes another', () => {
    const html = blueskyPost().replace('data-testid="postText" data-word-wrap="1"', '');
    open(FEED, html);
    expect(read(BLUESKY)).toBe('no_words');
  });

  it('is none at all outside of posts', () => {
    open(FEED, '<nav><a href="/profile/a.b/post/3x">somewhere</a></nav>');
    expect(BLUESKY.at(document.querySelector('a')!)).toBeNull();
    expect(THREADS.at(document.querySelector('a')!)).toBeNull();
  });
});

describe('posts of a page', () => {
  it('are found by their address, also after the page reuses their elements', () => {
    open(FEED, blueskyPost() + blueskyPost({ rkey: '3next' }));
    const [first, second] = BLUESKY.elements(document);
    vi.spyOn(Element.prototype, 'getBoundingClientRect').mockReturnValue(new DOMRect(0, 0, 500, 300));
    expect(findPost(BLUESKY, document, OWN)?.element).toBe(first);
    first!.outerHTML = blueskyPost({ rkey: '3other' });
    expect(findPost(BLUESKY, document, OWN)).toBeNull();
    expect(findPost(BLUESKY, document, OWN.replace('3own', '3next'))?.element).toBe(second);
  });

  it('are not found where the page keeps them out of sight', () => {
    open(FEED, blueskyPost() + blueskyPost());
    const [first, second] = BLUESKY.elements(document);
    vi.spyOn(first!, 'getBoundingClientRect').mockReturnValue(new DOMRect());
    vi.spyOn(second!, 'getBoundingClientRect').mockReturnValue(new DOMRect(0, 0, 500, 300));
    expect(findPost(BLUESKY, document, OWN)?.element).toBe(second);
  });

  it('in view: the one with the focus, or else the one nearest to the middle', () => {
    open(FEED, blueskyPost() + blueskyPost({ rkey: '3next' }) + blueskyPost({ rkey: '3last' }));
    const places = [-300, 80, 700];
    BLUESKY.elements(document).forEach((element, index) => {
      vi.spyOn(element, 'getBoundingClientRect').mockReturnValue(new DOMRect(0, places[index], 500, 300));
    });
    expect(inView(BLUESKY, document)).toMatchObject({ permalink: OWN.replace('3own', '3next') });
    document.querySelectorAll<HTMLElement>('.post')[2]!.focus();
    expect(inView(BLUESKY, document)).toMatchObject({ permalink: OWN.replace('3own', '3last') });
  });

  it('in view: none where all are above or below the window', () => {
    open(FEED, blueskyPost() + blueskyPost({ rkey: '3next' }));
    BLUESKY.elements(document).forEach((element, index) => {
      vi.spyOn(element, 'getBoundingClientRect').mockReturnValue(new DOMRect(0, [-300, 5_000][index], 500, 300));
    });
    expect(inView(BLUESKY, document)).toBeNull();
  });

  it('belong to the feed of their address', () => {
    const of = (url: string): string | undefined => feedFor(new URL(url))?.site;
    expect(['https://bsky.app/x', 'https://www.threads.net/', 'https://threads.com/'].map(of)).toEqual([
      'bsky.app',
      'threads.com',
      'threads.com',
    ]);
    expect(['http://bsky.app/', 'https://notthreads.com/', 'https://x.bsky.app/'].map(of)).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    expect(matches(THREADS, new URL('https://evil.example/threads.com'))).toBe(false);
  });
});
