// @vitest-environment happy-dom
/** The card of a post on a site that keeps the pages a reader came from, out of sight, with the same posts on them. */
import { beforeEach, expect, it, vi } from 'vitest';

import type { Feed, Post } from '../../src/feeds/base';
import { PORT_NAME } from '../../src/page/frame_messages';
import { HostElement } from '../../src/page/host_element';
import { PostCard } from '../../src/page/post_card';
import { Frame, revealing } from './frame';

const PERMALINK = 'https://bsky.app/profile/alice.example/post/3own';
const FEED: Feed = {
  ...{ site: 'bsky.app', name: 'Bluesky', hosts: ['bsky.app'] },
  at: (node) => post(node as Element),
  permalinkOf: () => PERMALINK,
  elements: (doc) => [...doc.body.children],
};

let card: PostCard;
let frame: Frame;
let inFeed: Element;
let inThread: Element;

function post(element: Element): Post {
  return { element, words: 'words', permalink: PERMALINK, site: 'bsky.app' };
}

/** What an element takes up; nothing where it is not shown. */
function occupy(element: Element, width: number): void {
  vi.spyOn(element, 'getBoundingClientRect').mockReturnValue(new DOMRect(0, 0, width, width / 4));
}

/** The width that the card was given last: that of the post it stands under. */
function width(): number | undefined {
  return frame.received.findLast((message) => message.kind === 'check')?.width;
}

beforeEach(() => {
  document.body.innerHTML = '<p>1</p><p>1</p>';
  [inFeed, inThread] = [document.body.children[0]!, document.body.children[1]!];
  occupy(inFeed, 400);
  occupy(inThread, 0);
  const { doc, secret } = revealing();
  const start = (): (() => void) => () => undefined;
  card = new PostCard(doc, new HostElement(doc), FEED, 'https://frame.test/f.html', 'title', start);
  card.open(post(inFeed));
  frame = new Frame(`${PORT_NAME}:${secret()}`);
  card.accept(frame);
  frame.say({ kind: 'ready' });
  expect(width()).toBe(400);
  occupy(inFeed, 0);
  occupy(inThread, 500);
});

it('goes to where its post is shown now', () => {
  card.place();
  expect(width()).toBe(500);
});

it('goes at once to the post whose button is pressed', () => {
  card.open(post(inThread));
  expect(width()).toBe(500);
});
