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
  World,
} from './surroundings';

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
  ])('%s passes: said, and said again after 1, 2, 4 … 30 s', async (_, hurt, kind, badge) => {
    const world = new World();
    Object.assign(world.server, hurt);
    const worker = await world.begin();
    const waits: unknown[] = [];
    for (const attempt of [0, 1, 2, 3, 4, 5, 50]) {
      waits.push((await worker.receive(pageContent('s1', attempt), tab(1))).retryAfterMs);
    }
    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
    expect(await state(worker)).toMatchObject({ kind: 'unanswered', problem: { kind } });
    await settled();
    expect(world.badges.get(1)!.text).toBe(badge);
    // A retry does not flicker: between the first answer and the last nothing else was shown.
    expect(new Set(world.statesOf(1).slice(1))).toEqual(new Set(['unanswered']));
    Object.assign(world.server, { online: true, up: true });
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
  ])('%s is not said again', async (errorCode, answer) => {
    const world = new World();
    world.server.answers['post.registerObservedVersion'] = answer;
    const worker = await world.begin();
    const reply = await worker.receive(pageContent(), tab(1));
    expect(reply).toMatchObject({ ok: false, retryAfterMs: null });
    expect(reply.errorCode).toBe(errorCode);
  });

  it('while something runs leaves what is known on display', async () => {
    const world = new World();
    const worker = await world.begin();
    world.server.says('post.investigateNow', queued());
    world.server.says('post.getInvestigation', investigating(2, 1));
    await worker.receive(pageContent(), tab(1));
    await investigate(worker);
    await settled();
    world.server.up = false;
    await pass(5_000);
    expect(await state(worker)).toMatchObject({
      kind: 'investigating',
      pendingCount: 2,
      trouble: { kind: 'server_down' },
    });
    world.server.up = true;
    world.server.says('post.getInvestigation', DONE);
    await pass(10_000);
    expect(await state(worker)).toMatchObject({ kind: 'investigated' });
  });

  it('while something is asked for keeps what is shown, and asks again', async () => {
    const world = new World();
    const worker = await world.begin();
    world.server.says('post.recordViewAndGetStatus', { ...NOT_INVESTIGATED, priorInvestigationResult: PRIOR });
    world.server.says('post.investigateNow', queued());
    world.server.says('post.getInvestigation', investigating(0, 0, { priorInvestigationResult: PRIOR }));
    await worker.receive(pageContent(), tab(1));
    world.server.up = false;
    await investigate(worker);
    const waits = { kind: 'investigating', wanted: true, prior: PRIOR, trouble: { kind: 'server_down' } };
    expect(await state(worker)).toMatchObject(waits);
    await pass(20_000);
    expect(await state(worker)).toMatchObject(waits);
    world.server.up = true;
    await pass(60_000); // a round in trouble is followed by the next within 30 s
    expect(await state(worker)).toMatchObject({ kind: 'investigating', wanted: false, prior: PRIOR, trouble: null });
    expect(world.server.asked('post.investigateNow')).toHaveLength(1);
  });

  it('while something is asked for outlives the worker', async () => {
    const world = new World();
    const worker = await world.begin();
    world.server.says('post.investigateNow', queued());
    world.server.says('post.getInvestigation', investigating(0, 0));
    await worker.receive(pageContent(), tab(1));
    world.server.up = false;
    await investigate(worker);
    world.server.up = true;
    const next = await world.begin();
    await vi.waitUntil(() => world.server.asked('post.getInvestigation').length > 0);
    expect(await state(next)).toMatchObject({ kind: 'investigating', wanted: false });
  });

  it('that cannot pass ends the polling', async () => {
    const world = new World();
    const worker = await world.begin();
    world.server.says('post.investigateNow', queued());
    world.server.says('post.getInvestigation', { nonsense: 1 });
    await worker.receive(pageContent(), tab(1));
    await investigate(worker);
    await pass(60_000);
    expect(world.server.asked('post.getInvestigation')).toHaveLength(1);
    expect(await state(worker)).toEqual({ kind: 'unanswered', problem: { kind: 'bad_answer' } });
  });
});

describe('a server that wants a newer extension', () => {
  async function outdated(): Promise<{ world: World; worker: Worker }> {
    const world = new World();
    world.server.answers['post.registerObservedVersion'] = () => failure('PRECONDITION_FAILED', 412, UPGRADE);
    const worker = await world.begin();
    await worker.receive(pageContent(), tab(1));
    await settled();
    return { world, worker };
  }

  it('is said on every tab, and remembered by the next worker', async () => {
    const { world } = await outdated();
    expect([world.badges.get(null)!.text, world.badges.get(1)!.text]).toEqual(['!', '!']);
    const next = await world.begin();
    expect((await cached(next)).upgrade).toEqual({ minimumVersion: '2.0.0' });
  });

  it('keeps the version it named although a later refusal names none', async () => {
    const { world, worker } = await outdated();
    world.server.answers['post.registerObservedVersion'] = () =>
      failure('PRECONDITION_FAILED', 412, { openerrataCode: 'UPGRADE_REQUIRED' });
    await worker.receive(pageContent('s2'), tab(1));
    expect((await cached(worker)).upgrade).toEqual({ minimumVersion: '2.0.0' });
  });

  it('is over with any good answer', async () => {
    const { world, worker } = await outdated();
    world.server.says('post.registerObservedVersion', REGISTERED);
    await worker.receive(pageContent('s2'), tab(1));
    await settled();
    expect((await cached(worker)).upgrade).toBeNull();
    expect(world.badges.get(null)!.text).toBe('');
  });

  it('is over with another server', async () => {
    const { world, worker } = await outdated();
    await world.area.set({ apiBaseUrl: 'https://other.example' });
    await settled();
    expect((await cached(worker)).upgrade).toBeNull();
    expect(world.sent('RESYNC')).toEqual([1]);
  });
});
