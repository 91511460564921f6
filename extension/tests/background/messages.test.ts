import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { write } from '../../src/protocol/messages';
import { PAGE_SENDER, pageContent, stopTime, tab, FakeEnvironment } from './fakes';

beforeEach(stopTime);
afterEach(() => void vi.useRealTimers());

describe('messages', () => {
  it('of another version are distinguished from bad ones', async () => {
    const worker = await new FakeEnvironment().begin();
    const newer = { ...write('GET_CACHED', { tabId: 1 }), v: 2 };
    expect(await worker.receive(newer, PAGE_SENDER)).toMatchObject({
      ok: false,
      errorCode: 'UNSUPPORTED_PROTOCOL_VERSION',
    });
  });

  it.each([
    ['nothing', undefined],
    ['no version', { type: 'GET_CACHED', payload: { tabId: 1 } }],
    ['an unknown type', write('FORMAT_DISK', {})],
    ['a field too many', { ...write('GET_CACHED', { tabId: 1 }), more: 1 }],
    ['a payload too many', write('GET_CACHED', { tabId: 1, more: 1 })],
    ['a wrong kind', write('GET_CACHED', { tabId: '1' })],
  ])('are refused: %s', async (_, message) => {
    const worker = await new FakeEnvironment().begin();
    expect(await worker.receive(message, PAGE_SENDER)).toMatchObject({
      ok: false,
      errorCode: 'INVALID_EXTENSION_MESSAGE',
    });
  });

  it('of the extension’s own pages do nothing when a page’s script sends them, nor the reverse', async () => {
    const environment = new FakeEnvironment();
    const worker = await environment.begin();
    expect(await worker.receive(write('SET_SITE', { site: 'x.com', off: true }), tab(1))).toMatchObject({ ok: false });
    expect(await worker.receive(pageContent(), PAGE_SENDER)).toMatchObject({ ok: false });
    expect([environment.area.items.has('sitesOff'), environment.server.requests.length]).toEqual([false, 0]);
  });

  it('start a page’s script where there is none', async () => {
    const environment = new FakeEnvironment();
    const worker = await environment.begin();
    await worker.receive(write('RETRY', { tabId: 5 }), PAGE_SENDER);
    expect([environment.started, environment.sent('RESYNC')]).toEqual([[5], []]);
  });
});
