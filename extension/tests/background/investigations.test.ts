import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { write } from '../../src/protocol/messages';
import {
  CLAIM,
  DONE,
  FAILED,
  investigate,
  INVESTIGATED,
  investigating,
  NOT_INVESTIGATED,
  ok,
  pageContent,
  pass,
  PAYLOAD,
  queued,
  settled,
  state,
  stopTime,
  tab,
  World,
} from './surroundings';

beforeEach(stopTime);
afterEach(() => void vi.useRealTimers());

describe('an investigation', () => {
  it('is asked for, followed, and ends', async () => {
    const world = new World();
    world.area.items.set('openaiApiKey', 'sk-own');
    const worker = await world.begin();
    await worker.receive(pageContent(), tab(1));
    world.server.says('post.investigateNow', queued());
    world.server.says('post.getInvestigation', investigating(1, 1));
    await investigate(worker);
    expect(world.server.asked('post.investigateNow')[0]!.headers.get('x-openai-api-key')).toBe('sk-own');
    await vi.waitUntil(() => world.server.asked('post.getInvestigation').length === 1);
    await settled();
    expect(await state(worker)).toMatchObject({
      kind: 'investigating',
      investigationId: 'i1',
      pendingCount: 1,
      confirmed: [PAYLOAD],
    });
    expect(world.badges.get(1)).toMatchObject({ text: '2', title: 'badgeInvestigating' });
    expect(world.alarmed).toBe(true);
    world.server.says('post.getInvestigation', DONE);
    await pass(5_000);
    expect(await state(worker)).toMatchObject({
      kind: 'investigated',
      investigationId: 'i1',
      checkedAt: DONE.checkedAt,
    });
    expect(world.alarmed).toBe(false);
    await pass(60_000);
    expect(world.server.asked('post.getInvestigation')).toHaveLength(2);
  });

  it('keeps nothing of a candidate but that there is one', async () => {
    const world = new World();
    const worker = await world.begin();
    const secret = { ...PAYLOAD, summary: 'unproven words' };
    world.server.says('post.recordViewAndGetStatus', {
      ...investigating(0, 0),
      pendingClaims: [secret],
      investigationId: 'i1',
    });
    world.server.says('post.getInvestigation', { ...investigating(0, 0), pendingClaims: [secret] });
    await worker.receive(pageContent(), tab(1));
    await settled();
    expect(await state(worker)).toMatchObject({ kind: 'investigating', pendingCount: 1 });
    expect(JSON.stringify([[...world.area.items], world.told])).not.toContain('unproven words');
  });

  it('shown in many tabs is asked about once, and all of them learn', async () => {
    const world = new World();
    const worker = await world.begin();
    for (const id of [1, 2, 3]) await worker.receive(pageContent(`s${id}`), tab(id));
    world.server.says('post.investigateNow', queued());
    world.server.says('post.getInvestigation', investigating(0, 0));
    await investigate(worker, 2);
    await vi.waitUntil(() => world.server.asked('post.getInvestigation').length === 1);
    await pass(5_000);
    expect(world.server.asked('post.getInvestigation')).toHaveLength(2);
    world.server.says('post.getInvestigation', DONE);
    await pass(5_000);
    for (const id of [1, 2, 3]) expect(await state(worker, id)).toMatchObject({ kind: 'investigated' });
  });

  it('is found again after a reload, although a view does not tell of it', async () => {
    const world = new World();
    const worker = await world.begin();
    world.server.says('post.investigateNow', queued());
    world.server.says('post.getInvestigation', investigating(1, 0));
    await worker.receive(pageContent('s1'), tab(1));
    await investigate(worker);
    await worker.receive(write('HELLO', {}), tab(1));
    await worker.receive(pageContent('s2'), tab(1));
    await settled();
    expect(await state(worker)).toMatchObject({ kind: 'investigating', investigationId: 'i1' });
    expect(world.server.asked('post.investigateNow')).toHaveLength(1);
  });

  it('goes on in a new worker after the old one was ended', async () => {
    const world = new World();
    const old = await world.begin();
    world.server.says('post.investigateNow', queued());
    world.server.says('post.getInvestigation', investigating(1, 0));
    await old.receive(pageContent(), tab(1));
    await investigate(old);
    await settled();
    vi.clearAllTimers();
    world.server.says('post.getInvestigation', DONE);
    const worker = await world.begin();
    await vi.waitUntil(async () => (await state(worker))?.kind === 'investigated');
    await settled();
    expect(world.statesOf(1).at(-1)).toBe('investigated');
    expect(world.alarmed).toBe(false);
  });

  it('that a server does not know yet is given a moment', async () => {
    const world = new World();
    const worker = await world.begin();
    world.server.says('post.investigateNow', queued());
    world.server.says('post.getInvestigation', NOT_INVESTIGATED);
    await worker.receive(pageContent(), tab(1));
    await investigate(worker);
    await pass(5_000);
    expect(await state(worker)).toMatchObject({ kind: 'investigating' });
    world.now += 20_000;
    await pass(5_000);
    expect(await state(worker)).toEqual({ kind: 'not_investigated', prior: null });
    expect(world.alarmed).toBe(false);
  });

  it('that is complete already is shown at once', async () => {
    const world = new World();
    const worker = await world.begin();
    world.server.says('post.investigateNow', { ...queued(), status: 'COMPLETE', claims: [CLAIM] });
    await worker.receive(pageContent(), tab(1));
    await investigate(worker);
    expect(await state(worker)).toMatchObject({ kind: 'investigated', investigationId: 'i1' });
    expect(world.server.asked('post.getInvestigation')).toHaveLength(0);
  });

  it('of a page that was never registered has the page say again what it shows', async () => {
    const world = new World();
    world.server.up = false;
    const worker = await world.begin();
    await worker.receive(pageContent(), tab(1));
    await investigate(worker);
    expect(world.sent('RESYNC')).toEqual([1]);
  });
});

describe('a request for an investigation', () => {
  it('is seen at once, and is one however often it is made', async () => {
    const world = new World();
    let answer: (response: Response) => void = () => undefined;
    world.server.answers['post.investigateNow'] = () => new Promise((resolve) => (answer = resolve));
    world.server.says('post.getInvestigation', investigating(0, 0));
    const worker = await world.begin();
    await worker.receive(pageContent(), tab(1));
    const asked = [investigate(worker), investigate(worker), investigate(worker)];
    await vi.waitUntil(() => world.server.asked('post.investigateNow').length > 0);
    expect(await state(worker)).toMatchObject({ kind: 'investigating', wanted: true, trouble: null });
    answer(ok(queued()));
    await Promise.all(asked);
    expect(world.server.asked('post.investigateNow')).toHaveLength(1);
    expect(await state(worker)).toMatchObject({ kind: 'investigating', wanted: false });
  });
});

describe('automatic investigation', () => {
  const journeys: [string, Record<string, unknown>, unknown, number][] = [
    ['begins with flag and key', { autoInvestigate: true, openaiApiKey: 'sk-own' }, NOT_INVESTIGATED, 1],
    ['not without the flag', { autoInvestigate: false, openaiApiKey: 'sk-own' }, NOT_INVESTIGATED, 0],
    ['not without the reader’s key', { autoInvestigate: true, apiKey: 'instance' }, NOT_INVESTIGATED, 0],
    ['not where there is a result', { autoInvestigate: true, openaiApiKey: 'sk-own' }, INVESTIGATED, 0],
  ];
  it.each(journeys)('%s', async (_, settings, viewed, times) => {
    const world = new World();
    await world.area.set(settings);
    world.server.says('post.recordViewAndGetStatus', viewed);
    world.server.says('post.investigateNow', queued());
    world.server.says('post.getInvestigation', investigating(0, 0));
    const worker = await world.begin();
    await worker.receive(pageContent(), tab(1));
    expect(world.server.asked('post.investigateNow')).toHaveLength(times);
  });

  it('does not pay again on each view for what has failed; a reader’s click does', async () => {
    const world = new World();
    await world.area.set({ autoInvestigate: true, openaiApiKey: 'sk-own' });
    world.server.says('post.investigateNow', queued());
    world.server.says('post.getInvestigation', FAILED);
    const worker = await world.begin();
    await worker.receive(pageContent('s1'), tab(1));
    await vi.waitUntil(async () => (await state(worker))?.kind === 'failed');
    await worker.receive(pageContent('s2'), tab(1));
    expect(await state(worker)).toMatchObject({ kind: 'not_investigated' });
    expect(world.server.asked('post.investigateNow')).toHaveLength(1);
    await investigate(worker);
    expect(world.server.asked('post.investigateNow')).toHaveLength(2);
  });
});
