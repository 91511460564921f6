// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, it, vi } from 'vitest';

import { type Finding, PORT_NAME } from '../../src/page/frame_messages';
import { Underlines } from '../../src/page/highlights';
import { HostElement } from '../../src/page/host_element';
import { InPageUi } from '../../src/page/in_page_ui';
import { NO_FINDINGS, type DisplayedFindings } from '../../src/page/ports';
import { Frame, revealing } from './frame';

interface Window {
  readonly happyDOM: { setViewport(size: { readonly width: number; readonly height: number }): void };
}

let ui: InPageUi;
let frame: Frame;
let shown: DisplayedFindings;

/** A reader with the panel of the first of these findings open, who had the focus on a link of the page. */
beforeEach(() => {
  resize(1000, 700);
  document.body.innerHTML = '<a href="/">a link</a>';
  document.querySelector('a')!.focus();
  shown = findings('a', 'b');
  const { doc, secret } = revealing();
  ui = new InPageUi({
    ...{ doc, host: new HostElement(doc), address: 'https://frame.test/f.html', title: 'title' },
    underlines: new Underlines(new Map(), (ranges) => new Set(ranges) as unknown as Highlight),
    shown: () => shown,
    root: () => document.body,
  });
  ui.start();
  dispatchEvent(trusted('keydown', { key: 'Tab' }));
  frame = new Frame(`${PORT_NAME}:${secret()}`);
  ui.accept(frame);
  frame.say({ kind: 'ready' });
  frame.say({ kind: 'open', claimId: 'a' });
  frame.say({ kind: 'focus', within: true });
});
afterEach(() => ui.stop());

function findings(...ids: string[]): DisplayedFindings {
  const more = { quote: 'q', context: 'q', summary: 's', reasoning: 'r', sources: [] };
  return { ...NO_FINDINGS, findings: ids.map((id): Finding => ({ id, ...more })) };
}

function trusted(type: string, more: object): Event {
  return Object.defineProperty(Object.assign(new Event(type), more), 'isTrusted', { value: true });
}

function resize(width: number, height: number): void {
  (window as unknown as Window).happyDOM.setViewport({ width, height });
}

it('goes with the last finding, and the focus goes back to the page', () => {
  const focused = vi.spyOn(document.querySelector('a')!, 'focus');
  shown = NO_FINDINGS;
  ui.refresh();
  expect(document.querySelector('html > div')).toBeNull();
  expect(focused).toHaveBeenCalledOnce();
});

it('stays for the findings that are left', () => {
  frame.received.length = 0;
  shown = findings('b');
  ui.refresh();
  frame.say({ kind: 'open', claimId: 'a' });
  expect(frame.received.filter(({ kind }) => kind === 'view')).toMatchObject([{ view: { kind: 'hidden' } }]);
  expect(document.querySelector('html > div')).not.toBeNull();
  expect(frame.received.at(-1)).toMatchObject({ kind: 'findings', findings: [{ id: 'b' }] });
});

it('fits a window that gets another size under it', () => {
  const first = frame.received.find(({ kind }) => kind === 'view');
  expect(first).toMatchObject({ view: { kind: 'hidden' }, room: { width: 976, height: 676 } });
  resize(320, 256);
  expect(frame.received.at(-1)).toEqual({
    ...{ kind: 'view', view: { kind: 'panel', claimId: 'a' }, focus: false },
    room: { width: 296, height: 232 },
  });
});
