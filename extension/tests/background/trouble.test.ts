import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import type { Worker } from '../../src/background/worker';
import {
  cached,
  DONE,
  failure,
  investigate,
  investigating,
  NOT_INVESTIGATED,
  ok,
  pageContent,
  pass,
  PRIOR,
  queued,
  REGISTERED,
  settled,
  state,
  stopTime,
  tab,
  FakeEnvironment,
} from './fakes';

beforeEach(stopTime);
afterEach(() => void vi.useRealTimers());

const UPGRADE = {
  openerrataCode: 'UPGRADE_REQUIRED',
  minimumSupportedExtensionVersion: '2.0.0',
  receivedExtensionVersion: '1.0.0',
};

describe('trouble', () => {
  it.each([
    ['offline', { online: false }, 'offline', ''],
    ['a server that is down', { up: false }, 'server_down', '!'],
    ['no permission', { up: false, permitted: false }, 'no_permission', '!'],
  ])('%s is temporary: reported, and retried after 1, 2, 4 … 30 s', async (_, hurt, kind, badge) => {
    const environment = new FakeEnvironment();
    Object.assign(environment.server, hurt);
    const worker = await environment.begin();
    const waits: unknown[] = [];
    for (const attempt of [0, 1, 2, 3, 4, 5, 50]) {
      waits.push((await worker.receive(pageContent('s1', attempt), tab(1))).retryAfterMs);
    }
    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
    expect(await state(worker)).toMatchObject({ kind: 'unanswered', problem: { kind } });
    await settled();
    expect(environment.badges.get(1)!.text).toBe(badge);
    // A retry does not flicker: between the first answer and the last nothing else was shown.
    expect(new Set(environment.statesOf(1).slice(1))).toEqual(new Set(['unanswered']));
    Object.assign(environment.server, { online: true, up: true });
    expect(await worker.receive(pageContent('s1', 7), tab(1))).toEqual({ ok: true });
    expect(await state(worker)).toMatchObject({ kind: 'not_investigated' });
  });

  it.each([
    ['PAYLOAD_TOO_LARGE', () => failure('PAYLOAD_TOO_LARGE', 413)],
    ['UPGRADE_REQUIRED', () => failure('PRECONDITION_FAILED', 412, UPGRADE)],
    [
      'MALFORMED_EXTENSION_VERSION',
      () => failure('BAD_REQUEST', 400, { openerrataCode: 'MALFORMED_EXTENSION_VERSION' }),
    ],
    ['INVALID_EXTENSION_MESSAGE', () => ok({ surprise: true })],
    [undefined, () => failure('BAD_REQUEST', 400)],
  ])('%s is not retried', async (errorCode, answer) => {
    const environment = new FakeEnvironment();
    environment.server.answers['post.registerObservedVersion'] = answer;
    const worker = await environment.begin();
    const reply = await worker.receive(pageContent(), tab(1));
    expect(reply).toMatchObject({ ok: false, retryAfterMs: null });
    expect(reply.errorCode).toBe(errorCode);
  });

  it('while something runs leaves what is known on display', async () => {
    const environment = new FakeEnvironment();
    const worker = await environment.begin();
    environment.server.says('post.investigateNow', queued());
    environment.server.says('post.getInvestigation', investigating(2, 1));
    await worker.receive(pageContent(), tab(1));
    await investigate(worker);
    await settled();
    environment.server.up = false;
    await pass(5_000);
    expect(await state(worker)).toMatchObject({
      kind: 'investigating',
      pendingCount: 2,
      trouble: { kind: 'server_down' },
    });
    environment.server.up = true;
    environment.server.says('post.getInvestigation', DONE);
    await pass(10_000);
    expect(await state(worker)).toMatchObject({ kind: 'investigated' });
  });

  it('while something is asked for keeps what is shown, and asks again', async () => {
    const environment = new FakeEnvironment();
    const worker = await environment.begin();
    environment.server.says('post.recordViewAndGetStatus', { ...NOT_INVESTIGATED, priorInvestigationResult: PRIOR });
    environment.server.says('post.investigateNow', queued());
    environment.server.says('post.getInvestigation', investigating(0, 0, { priorInvestigationResult: PRIOR }));
    await worker.receive(pageContent(), tab(1));
    environment.server.up = false;
    await investigate(worker);
    const waits = { kind: 'investigating', wanted: true, prior: PRIOR, trouble: { kind: 'server_down' } };
    expect(await state(worker)).toMatchObject(waits);
    await pass(20_000);
    expect(await state(worker)).toMatchObject(waits);
    environment.server.up = true;
    await pass(60_000); // a round in trouble is followed by the next within 30 s
    expect(await state(worker)).toMatchObject({ kind: 'investigating', wanted: false, prior: PRIOR, trouble: null });
    expect(environment.server.asked('post.investigateNow')).toHaveLength(1);
  });

  it('while something is asked for outlives the worker', async () => {
    const environment = new FakeEnvironment();
    const worker = await environment.begin();
    environment.server.says('post.investigateNow', queued());
    environment.server.says('post.getInvestigation', investigating(0, 0));
    await worker.receive(pageContent(), tab(1));
    environment.server.up = false;
    await investigate(worker);
    environment.server.up = true;
    const next = await environment.begin();
    await vi.waitUntil(() => environment.server.asked('post.getInvestigation').length > 0);
    expect(await state(next)).toMatchObject({ kind: 'investigating', wanted: false });
  });

  it('that cannot pass ends the polling', async () => {
    const environment = new FakeEnvironment();
    const worker = await environment.begin();
    environment.server.says('post.investigateNow', queued());
    environment.server.says('post.getInvestigation', { nonsense: 1 });
    await worker.receive(pageContent(), tab(1));
    await investigate(worker);
    await pass(60_000);
    expect(environment.server.asked('post.getInvestigation')).toHaveLength(1);
    expect(await state(worker)).toEqual({ kind: 'unanswered', problem: { kind: 'bad_answer' } });
  });
});

describe('a server that wants a newer extension', () => {
  async function outdated(): Promise<{ environment: FakeEnvironment; worker: Worker }> {
    const environment = new FakeEnvironment();
    environment.server.answers['post.registerObservedVersion'] = () => failure('PRECONDITION_FAILED', 412, UPGRADE);
    const worker = await environment.begin();
    await worker.receive(pageContent(), tab(1));
    await settled();
    return { environment, worker };
  }

  it('is shown on every tab, and stored for the next worker', async () => {
    const { environment } = await outdated();
    expect([...environment.badges.values()].map(({ title }) => title)).toEqual(['badgeUpgrade', 'badgeUpgrade']);
    const next = await environment.begin();
    expect((await cached(next)).upgrade).toEqual({ minimumVersion: '2.0.0' });
  });

  it('keeps the version it named although a later refusal names none', async () => {
    const { environment, worker } = await outdated();
    environment.server.answers['post.registerObservedVersion'] = () =>
      failure('PRECONDITION_FAILED', 412, { openerrataCode: 'UPGRADE_REQUIRED' });
    await worker.receive(pageContent('s2'), tab(1));
    expect((await cached(worker)).upgrade).toEqual({ minimumVersion: '2.0.0' });
  });

  it('is over with any good answer', async () => {
    const { environment, worker } = await outdated();
    environment.server.says('post.registerObservedVersion', REGISTERED);
    await worker.receive(pageContent('s2'), tab(1));
    await settled();
    expect((await cached(worker)).upgrade).toBeNull();
    expect(environment.badges.get(null)!.text).toBe('');
  });

  it('is over with another server', async () => {
    const { environment, worker } = await outdated();
    await environment.area.set({ apiBaseUrl: 'https://other.example' });
    await settled();
    expect((await cached(worker)).upgrade).toBeNull();
    expect(environment.sent('RESYNC')).toEqual([1]);
  });
});
