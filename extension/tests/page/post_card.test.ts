// @vitest-environment happy-dom
/** The card of a post on a site that keeps the pages a reader came from, out of sight, with the same posts on them. */
import { beforeEach, expect, it, type Mock, vi } from 'vitest';

import type { Feed, Post } from '../../src/feeds/base';
import { PORT_NAME } from '../../src/page/frame_messages';
import { HostElement } from '../../src/page/host_element';
import { PostCard, type StartCheck } from '../../src/page/post_card';
import type { Out } from '../../src/verdict/check';
import { Frame, revealing } from './frame';

const PERMALINK = 'https://bsky.app/profile/alice.example/post/3own';
const FEED: Feed = {
  ...{ site: 'bsky.app', name: 'Bluesky', hosts: ['bsky.app'] },
  at: (node) => post(node as Element),
  permalinkOf: (element) => post(element).permalink,
  elements: (doc) => [...doc.body.children],
};

/** A check as the background runs it. */
interface Check {
  readonly words: string;
  readonly say: (out: Out) => void;
  readonly cancel: Mock;
}

const DONE = { at: 'done', card: {} } as Out;
const FAILED: Out = { at: 'failed', failure: { code: 'interrupted' } };

let checks: Check[];
let words: string;
let card: PostCard;
let frame: Frame;
let inFeed: Element;
let inThread: Element;

function post(element: Element): Post {
  return { element, words, permalink: PERMALINK + element.className, site: 'bsky.app' };
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
  checks = [];
  words = 'words';
  const start: StartCheck = (found, say) => {
    const cancel = vi.fn();
    checks.push({ words: found.words, say, cancel });
    return cancel;
  };
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

it('stays with its post where a list puts another one into its element', () => {
  occupy(inFeed, 400);
  inFeed.className = 'other';
  card.place();
  expect(width()).toBe(500);
});

it('of another post stops the check before it, which is not heard any more', () => {
  const other = document.createElement('p');
  other.className = 'other';
  document.body.append(other);
  occupy(other, 300);
  card.open(post(other));
  expect(checks[0]!.cancel).toHaveBeenCalledOnce();
  const received = [...frame.received];
  checks[0]!.say(FAILED);
  expect(frame.received).toEqual(received);
  expect(checks[1]!.cancel).not.toHaveBeenCalled();
  card.close(false);
  expect(checks[1]!.cancel).toHaveBeenCalledOnce();
});

it('checks again what stands there by then, once the check has ended', () => {
  frame.say({ kind: 'again' });
  expect(checks).toHaveLength(1);
  checks[0]!.say(FAILED);
  words = 'corrected';
  frame.say({ kind: 'again' });
  expect(checks.map((check) => check.words)).toEqual(['words', 'corrected']);
  checks[1]!.say(FAILED);
  card.close(false);
  card.open(post(inThread));
  expect(checks).toHaveLength(3);
});

it('checks the same words again where its reader wants that', () => {
  checks[0]!.say(DONE);
  frame.say({ kind: 'again' });
  expect(checks).toHaveLength(2);
});

it('keeps a verdict for the words that it is about, and for no others', () => {
  checks[0]!.say(DONE);
  card.close(false);
  card.open(post(inThread));
  expect(checks).toHaveLength(1);
  words = 'edited';
  card.open(post(inThread));
  expect(checks.map((check) => check.words)).toEqual(['words', 'edited']);
  words = 'edited again';
  card.open(post(inThread));
  expect(checks[1]!.cancel).toHaveBeenCalledOnce();
  words = 'words';
  card.open(post(inThread));
  expect(checks).toHaveLength(3);
});
