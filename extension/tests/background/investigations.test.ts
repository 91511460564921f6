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
  FakeEnvironment,
} from './fakes';

beforeEach(stopTime);
afterEach(() => void vi.useRealTimers());

describe('an investigation', () => {
  it('is asked for, followed, and ends', async () => {
    const environment = new FakeEnvironment();
    environment.area.items.set('openaiApiKey', 'sk-own');
    const worker = await environment.begin();
    await worker.receive(pageContent(), tab(1));
    environment.server.says('post.investigateNow', queued());
    environment.server.says('post.getInvestigation', investigating(1, 1));
    await investigate(worker);
    expect(environment.server.asked('post.investigateNow')[0]!.headers.get('x-openai-api-key')).toBe('sk-own');
    await vi.waitUntil(() => environment.server.asked('post.getInvestigation').length === 1);
    await settled();
    expect(await state(worker)).toMatchObject({
      kind: 'investigating',
      investigationId: 'i1',
      pendingCount: 1,
      confirmed: [PAYLOAD],
    });
    expect(environment.badges.get(1)).toMatchObject({ text: '2', title: 'badgeInvestigating' });
    expect(environment.alarmRunning).toBe(true);
    environment.server.says('post.getInvestigation', DONE);
    await pass(5_000);
    expect(await state(worker)).toMatchObject({
      kind: 'investigated',
      investigationId: 'i1',
      checkedAt: DONE.checkedAt,
    });
    expect(environment.alarmRunning).toBe(false);
    await pass(60_000);
    expect(environment.server.asked('post.getInvestigation')).toHaveLength(2);
  });

  it('keeps nothing of a candidate but that there is one', async () => {
    const environment = new FakeEnvironment();
    const worker = await environment.begin();
    const secret = { ...PAYLOAD, summary: 'unproven words' };
    environment.server.says('post.recordViewAndGetStatus', {
      ...investigating(0, 0),
      pendingClaims: [secret],
      investigationId: 'i1',
    });
    environment.server.says('post.getInvestigation', { ...investigating(0, 0), pendingClaims: [secret] });
    await worker.receive(pageContent(), tab(1));
    await settled();
    expect(await state(worker)).toMatchObject({ kind: 'investigating', pendingCount: 1 });
    expect(JSON.stringify([[...environment.area.items], environment.messages])).not.toContain('unproven words');
  });

  it('shown in many tabs is asked about once, and all of them learn', async () => {
    const environment = new FakeEnvironment();
    const worker = await environment.begin();
    for (const id of [1, 2, 3]) await worker.receive(pageContent(`s${id}`), tab(id));
    environment.server.says('post.investigateNow', queued());
    environment.server.says('post.getInvestigation', investigating(0, 0));
    await investigate(worker, 2);
    await vi.waitUntil(() => environment.server.asked('post.getInvestigation').length === 1);
    await pass(5_000);
    expect(environment.server.asked('post.getInvestigation')).toHaveLength(2);
    environment.server.says('post.getInvestigation', DONE);
    await pass(5_000);
    for (const id of [1, 2, 3]) expect(await state(worker, id)).toMatchObject({ kind: 'investigated' });
  });

  it('is found again after a reload, although the answer to a view omits it', async () => {
    const environment = new FakeEnvironment();
    const worker = await environment.begin();
    environment.server.says('post.investigateNow', queued());
    environment.server.says('post.getInvestigation', investigating(1, 0));
    await worker.receive(pageContent('s1'), tab(1));
    await investigate(worker);
    await worker.receive(write('HELLO', {}), tab(1));
    await worker.receive(pageContent('s2'), tab(1));
    await settled();
    expect(await state(worker)).toMatchObject({ kind: 'investigating', investigationId: 'i1' });
    expect(environment.server.asked('post.investigateNow')).toHaveLength(1);
  });

  it.each(['running', 'failed'])('that is %s is nothing to another server', async (outcome) => {
    const environment = new FakeEnvironment();
    environment.area.items.set('openaiApiKey', 'sk-own');
    environment.area.items.set('autoInvestigate', true);
    const worker = await environment.begin();
    environment.server.says('post.investigateNow', queued(outcome === 'failed' ? 'FAILED' : 'PENDING'));
    environment.server.says('post.getInvestigation', investigating(1, 0));
    await worker.receive(pageContent('s1'), tab(1));
    await settled();
    await environment.area.set({ apiBaseUrl: 'https://other.example' });
    await settled();
    environment.server.says('post.investigateNow', queued('PENDING', 'i2'));
    await worker.receive(write('HELLO', {}), tab(1));
    await worker.receive(pageContent('s2'), tab(1));
    await settled();
    expect(environment.server.asked('post.investigateNow')).toHaveLength(2);
    expect(await state(worker)).toMatchObject({ kind: 'investigating', investigationId: 'i2' });
  });

  it('continues in a new worker after the old one was ended', async () => {
    const environment = new FakeEnvironment();
    const old = await environment.begin();
    environment.server.says('post.investigateNow', queued());
    environment.server.says('post.getInvestigation', investigating(1, 0));
    await old.receive(pageContent(), tab(1));
    await investigate(old);
    await settled();
    vi.clearAllTimers();
    environment.server.says('post.getInvestigation', DONE);
    const worker = await environment.begin();
    await vi.waitUntil(async () => (await state(worker))?.kind === 'investigated');
    await settled();
    expect(environment.statesOf(1).at(-1)).toBe('investigated');
    expect(environment.alarmRunning).toBe(false);
  });

  it('that a server does not know yet is given a moment', async () => {
    const environment = new FakeEnvironment();
    const worker = await environment.begin();
    environment.server.says('post.investigateNow', queued());
    environment.server.says('post.getInvestigation', NOT_INVESTIGATED);
    await worker.receive(pageContent(), tab(1));
    await investigate(worker);
    await pass(5_000);
    expect(await state(worker)).toMatchObject({ kind: 'investigating' });
    environment.now += 20_000;
    await pass(5_000);
    expect(await state(worker)).toEqual({ kind: 'not_investigated', prior: null });
    expect(environment.alarmRunning).toBe(false);
  });

  it('that is complete already is shown at once', async () => {
    const environment = new FakeEnvironment();
    const worker = await environment.begin();
    environment.server.says('post.investigateNow', { ...queued(), status: 'COMPLETE', claims: [CLAIM] });
    await worker.receive(pageContent(), tab(1));
    await investigate(worker);
    expect(await state(worker)).toMatchObject({ kind: 'investigated', investigationId: 'i1' });
    expect(environment.server.asked('post.getInvestigation')).toHaveLength(0);
  });

  it('of a page that was never registered makes the page send its content again', async () => {
    const environment = new FakeEnvironment();
    environment.server.up = false;
    const worker = await environment.begin();
    await worker.receive(pageContent(), tab(1));
    await investigate(worker);
    expect(environment.sent('RESYNC')).toEqual([1]);
  });
});

describe('a request for an investigation', () => {
  it('is seen at once, and is one however often it is made', async () => {
    const environment = new FakeEnvironment();
    let answer: (response: Response) => void = () => undefined;
    environment.server.answers['post.investigateNow'] = () => new Promise((resolve) => (answer = resolve));
    environment.server.says('post.getInvestigation', investigating(0, 0));
    const worker = await environment.begin();
    await worker.receive(pageContent(), tab(1));
    const asked = [investigate(worker), investigate(worker), investigate(worker)];
    await vi.waitUntil(() => environment.server.asked('post.investigateNow').length > 0);
    expect(await state(worker)).toMatchObject({ kind: 'investigating', wanted: true, trouble: null });
    answer(ok(queued()));
    await Promise.all(asked);
    expect(environment.server.asked('post.investigateNow')).toHaveLength(1);
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
    const environment = new FakeEnvironment();
    await environment.area.set(settings);
    environment.server.says('post.recordViewAndGetStatus', viewed);
    environment.server.says('post.investigateNow', queued());
    environment.server.says('post.getInvestigation', investigating(0, 0));
    const worker = await environment.begin();
    await worker.receive(pageContent(), tab(1));
    expect(environment.server.asked('post.investigateNow')).toHaveLength(times);
  });

  it('does not pay again on each view for what has failed; a reader’s click does', async () => {
    const environment = new FakeEnvironment();
    await environment.area.set({ autoInvestigate: true, openaiApiKey: 'sk-own' });
    environment.server.says('post.investigateNow', queued());
    environment.server.says('post.getInvestigation', FAILED);
    const worker = await environment.begin();
    await worker.receive(pageContent('s1'), tab(1));
    await vi.waitUntil(async () => (await state(worker))?.kind === 'failed');
    await worker.receive(pageContent('s2'), tab(1));
    expect(await state(worker)).toMatchObject({ kind: 'not_investigated' });
    expect(environment.server.asked('post.investigateNow')).toHaveLength(1);
    await investigate(worker);
    expect(environment.server.asked('post.investigateNow')).toHaveLength(2);
  });

  it('that failed is asked for again after a day, and nothing is kept of it for longer', async () => {
    const environment = new FakeEnvironment();
    await environment.area.set({ autoInvestigate: true, openaiApiKey: 'sk-own' });
    const old = { investigationId: 'i0', outcome: 'failed', since: environment.now };
    environment.area.items.set('runs', { v1: old, v9: old });
    environment.server.says('post.investigateNow', queued());
    environment.server.says('post.getInvestigation', investigating(0, 0));
    const worker = await environment.begin();
    environment.now += 24 * 3_600_000 + 1;
    await worker.receive(pageContent(), tab(1));
    await settled();
    expect(environment.area.items.get('runs')).toMatchObject({ v1: { investigationId: 'i1' } });
    expect(environment.area.items.get('runs')).not.toHaveProperty('v9');
  });
});
