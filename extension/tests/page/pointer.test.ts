// @vitest-environment happy-dom
/** What a pointer opens: only what it is really on, and nothing where the page itself wants the click. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';

import { type Finding, PORT_NAME } from '../../src/page/frame_messages';
import { Underlines } from '../../src/page/highlights';
import { HostElement } from '../../src/page/host_element';
import { InPageUi } from '../../src/page/in_page_ui';
import { NO_FINDINGS } from '../../src/page/ports';
import { piecesOf } from '../../src/page/ranges';
import { walk } from '../../src/page/walk';
import { Frame, revealing } from './frame';

/** Both sentences are one line of 100 pixels, the second one below the first. */
const HTML = '<p>It is wrong.</p><p><a href="/">So is this.</a></p>';
const LINES = [new DOMRect(0, 0, 100, 20), new DOMRect(0, 40, 100, 20)];

let ui: InPageUi;
let frame: Frame;

beforeEach(() => {
  vi.useFakeTimers();
  document.body.innerHTML = HTML;
  const [one, other] = [...document.querySelectorAll('p')];
  const node = (y: number): Node => (y < 30 ? one!.firstChild! : other!.querySelector('a')!.firstChild!);
  const { doc, secret } = revealing();
  // As in a browser, the caret is also found right of a line, at its end.
  Object.assign(doc, {
    caretPositionFromPoint: (x: number, y: number) => ({
      offsetNode: node(y),
      offset: Math.min(11, Math.max(0, x / 10)),
    }),
  });
  vi.spyOn(Range.prototype, 'getClientRects').mockImplementation(function (this: Range) {
    return [LINES[one!.contains(this.startContainer) ? 0 : 1]!] as unknown as DOMRectList;
  });
  const walked = walk(document.body, () => false);
  const underlines = new Underlines(new Map(), (ranges) => new Set(ranges) as unknown as Highlight);
  underlines.show(
    new Map([
      ['a', piecesOf(walked, 0, 12)!],
      ['b', piecesOf(walked, 12, 23)!],
    ]),
  );
  const more = { quote: 'q', context: 'q', summary: 's', reasoning: 'r', sources: [] };
  ui = new InPageUi({
    ...{ doc, host: new HostElement(doc), address: 'https://frame.test/f.html', title: 'title', underlines },
    shown: () => ({ ...NO_FINDINGS, findings: ['a', 'b'].map((id): Finding => ({ id, ...more })) }),
    root: () => document.body,
  });
  ui.start();
  dispatchEvent(trusted('keydown', { key: 'Tab' }));
  frame = new Frame(`${PORT_NAME}:${secret()}`);
  ui.accept(frame);
  frame.say({ kind: 'ready' });
});

afterEach(() => {
  ui.stop();
  getSelection()!.removeAllRanges();
  vi.useRealTimers();
});

function trusted(type: string, more: object): Event {
  return Object.defineProperty(Object.assign(new Event(type, { bubbles: true }), more), 'isTrusted', { value: true });
}

function point(x: number, y: number): void {
  dispatchEvent(trusted('pointermove', { pointerType: 'mouse', clientX: x, clientY: y }));
  vi.advanceTimersByTime(100);
}

function click(target: Element, x: number, y: number): void {
  target.dispatchEvent(trusted('click', { button: 0, clientX: x, clientY: y }));
}

function view(): unknown {
  const last = frame.received.findLast((message) => message.kind === 'view');
  return last?.kind === 'view' ? last.view : null;
}

it('shows the finding under the pointer, and nothing beside its words', () => {
  point(150, 10);
  expect(view()).toEqual({ kind: 'hidden' });
  point(50, 10);
  expect(view()).toEqual({ kind: 'tooltip', claimId: 'a' });
});

it('leaves the panel that is read where the pointer crosses other words', () => {
  click(document.querySelector('p')!, 50, 10);
  point(50, 50);
  expect(view()).toEqual({ kind: 'panel', claimId: 'a' });
});

it('opens nothing where a link is followed, words are selected or a script clicks', () => {
  click(document.querySelector('a')!, 50, 50);
  expect(view()).toEqual({ kind: 'hidden' });
  document
    .querySelector('p')!
    .dispatchEvent(Object.assign(new Event('click', { bubbles: true }), { button: 0, clientX: 50, clientY: 10 }));
  getSelection()!.selectAllChildren(document.querySelector('p')!);
  click(document.querySelector('p')!, 50, 10);
  expect(view()).toEqual({ kind: 'hidden' });
});

it('closes the panel by a click beside it, and not by one in it', () => {
  click(document.querySelector('p')!, 50, 10);
  click(document.querySelector('html > div')!, 150, 10);
  expect(view()).toEqual({ kind: 'panel', claimId: 'a' });
  click(document.body, 150, 10);
  expect(view()).toEqual({ kind: 'hidden' });
});

it('stays while the focus is in it, though the pointer has left', () => {
  point(50, 10);
  frame.say({ kind: 'focus', within: true });
  point(150, 10);
  vi.advanceTimersByTime(1_000);
  expect(view()).toEqual({ kind: 'tooltip', claimId: 'a' });
  frame.say({ kind: 'focus', within: false });
  vi.advanceTimersByTime(1_000);
  expect(view()).toEqual({ kind: 'hidden' });
});
