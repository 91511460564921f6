// @vitest-environment happy-dom
import { beforeEach, describe, expect, it } from 'vitest';

import { PORT_NAME, HIDDEN_VIEW, type ToFrame } from '../../src/page/frame_messages';
import { FrameChannel } from '../../src/page/frame_channel';
import { HostElement } from '../../src/page/host_element';
import { Frame, revealing } from './frame';

const view: ToFrame = { kind: 'view', view: HIDDEN_VIEW, focus: false, room: { width: 1, height: 1 } };

function stage() {
  const received: string[] = [];
  const { doc, secret } = revealing();
  const framed = new FrameChannel(
    new HostElement(doc),
    'https://frame.test/f.html',
    'title',
    (message) => received.push(message.kind),
    () => received.push('lost'),
  );
  return { framed, received, secret };
}

beforeEach(() => {
  for (const left of document.querySelectorAll('html > div')) left.remove();
});

describe('the in-page frame', () => {
  it('adds nothing until it is needed, and then one element without a word in it', () => {
    const { framed } = stage();
    expect(document.querySelectorAll('html > div')).toHaveLength(0);
    framed.ensure();
    framed.ensure();
    const [host] = document.querySelectorAll('html > div');
    expect(document.querySelectorAll('html > div')).toHaveLength(1);
    expect([host!.shadowRoot, host!.textContent, host!.childNodes.length]).toEqual([null, '', 0]);
    expect(framed.owns(host)).toBe(true);
  });

  it('accepts only the frame that knows the secret', () => {
    const { framed, secret, received } = stage();
    framed.ensure();
    const other = new Frame(`${PORT_NAME}:guess`);
    expect(framed.accept(other)).toBe(false);
    other.say({ kind: 'ready' });
    expect(received).toEqual([]);
    expect(framed.accept(new Frame(`${PORT_NAME}:${secret()}`))).toBe(true);
  });

  it('sends queued messages once the frame is ready, the newest of each kind', () => {
    const { framed, secret } = stage();
    framed.ensure();
    framed.send({ kind: 'speak', claimId: 'a' });
    framed.send(view);
    const frame = new Frame(`${PORT_NAME}:${secret()}`);
    framed.accept(frame);
    framed.send({ kind: 'speak', claimId: 'b' });
    expect(frame.received).toEqual([]);
    frame.say({ kind: 'ready' });
    expect(frame.received).toEqual([view, { kind: 'speak', claimId: 'b' }]);
  });

  it('is created again when the page removed it, or when it disconnects', () => {
    const { framed, secret } = stage();
    framed.ensure();
    const frame = new Frame(`${PORT_NAME}:${secret()}`);
    framed.accept(frame);
    frame.say({ kind: 'ready' });
    document.querySelector('html > div')!.remove();
    framed.ensure();
    expect([document.querySelectorAll('html > div').length, framed.ready]).toEqual([1, false]);
    framed.accept(frame);
    frame.end();
    expect(document.querySelectorAll('html > div')).toHaveLength(0);
  });

  it('hears nothing of an earlier frame, and outlives it', () => {
    const { framed, secret, received } = stage();
    framed.ensure();
    const earlier = new Frame(`${PORT_NAME}:${secret()}`);
    framed.accept(earlier);
    document.querySelector('html > div')!.remove();
    framed.ensure();
    framed.accept(new Frame(`${PORT_NAME}:${secret()}`));
    earlier.say({ kind: 'close', back: true });
    earlier.end();
    expect(received).toEqual([]);
    expect(document.querySelectorAll('html > div')).toHaveLength(1);
  });

  it('is not printed', () => {
    const { framed } = stage();
    framed.ensure();
    const host = document.querySelector<HTMLElement>('html > div')!;
    dispatchEvent(new Event('beforeprint'));
    expect(host.style.visibility).toBe('hidden');
    dispatchEvent(new Event('afterprint'));
    expect(host.style.visibility).toBe('visible');
  });
});
