// @vitest-environment happy-dom
/** WCAG 1.4.13 for the button beside a post: the pointer reaches it, Escape puts it away, and it stays as long as it is wanted. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';

import type { Feed } from '../../src/feeds/base';
import { HostElement } from '../../src/page/host_element';
import { PointedPost } from '../../src/page/pointed_post';

const FEED: Feed = {
  ...{ site: 'bsky.app', name: 'Bluesky', hosts: ['bsky.app'] },
  at(node) {
    const element = (node as Element).closest('.post');
    return element && { element, words: 'words', permalink: `https://bsky.app/${element.id}`, site: 'bsky.app' };
  },
  permalinkOf: () => null,
  elements: () => [],
};

let pointed: PointedPost;
let pressed: unknown[];
let listening: AbortController;
let host: HostElement;

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal(
    'IntersectionObserver',
    class {
      observe = vi.fn();
      disconnect = vi.fn();
    },
  );
  document.body.innerHTML = '<main>-</main><p class="post" id="one" tabindex="0">1</p><p class="post" id="two">2</p>';
  vi.spyOn(Element.prototype, 'getBoundingClientRect').mockReturnValue(new DOMRect(10, 10, 300, 100));
  host = new HostElement(document);
  pressed = [];
  pointed = new PointedPost(document, host, FEED, 'Check', ({ element }) => void pressed.push(element.textContent));
  listening = new AbortController();
  pointed.listen(listening.signal);
});

afterEach(() => {
  listening.abort();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** The extension's element, which is only there while it shows something. */
function shown(): Element | null {
  return document.querySelector('html > div');
}

function fire(type: string, target: Element): void {
  const event = new Event(type, { bubbles: true });
  Object.defineProperty(event, 'isTrusted', { value: true });
  target.dispatchEvent(event);
}

function hover(selector: string): void {
  fire('pointerover', document.querySelector(selector)!);
}

it('waits for a pointer on its way to it, and stays while it is there', () => {
  hover('#one');
  hover('main');
  vi.advanceTimersByTime(399);
  fire('pointerover', shown()!);
  vi.advanceTimersByTime(10_000);
  expect(shown()).not.toBeNull();
  hover('main');
  vi.advanceTimersByTime(400);
  expect(shown()).toBeNull();
});

it('is put away until another post is pointed at', () => {
  hover('#one');
  pointed.dismiss();
  expect(shown()).toBeNull();
  hover('#one');
  pointed.place();
  expect(shown()).toBeNull();
  hover('#two');
  expect(shown()).not.toBeNull();
});

it('stays at the post with the focus after the pointer has left', () => {
  const post = document.querySelector<HTMLElement>('#one')!;
  vi.spyOn(post, 'matches').mockImplementation((selector) => selector === ':focus-visible');
  post.focus();
  fire('focusin', post);
  hover('main');
  vi.advanceTimersByTime(10_000);
  expect(shown()).not.toBeNull();
  post.blur();
  hover('main');
  vi.advanceTimersByTime(10_000);
  expect(shown()).toBeNull();
});

it('is not brought by what the page does', () => {
  document.querySelector('#one')!.dispatchEvent(new Event('pointerover', { bubbles: true }));
  expect(shown()).toBeNull();
});

it('is pressed by the reader alone, for the post that stands there by then', () => {
  const attach = vi.spyOn(Element.prototype, 'attachShadow');
  hover('#one');
  const button = (attach.mock.results[0]!.value as ShadowRoot).querySelector('button')!;
  button.click();
  expect(pressed).toEqual([]);
  fire('click', button);
  expect(pressed).toEqual(['1']);
  document.querySelector('#one')!.className = 'advertisement';
  fire('click', button);
  document.querySelector('#one')!.remove();
  fire('click', button);
  expect(pressed).toEqual(['1']);
});
