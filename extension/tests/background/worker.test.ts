import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { type Reply, type Worker } from '../../src/background/worker';
import { write } from '../../src/protocol/messages';
import type { TabStatus } from '../../src/protocol/status';
import {
  CLAIM,
  CONTENT,
  DONE,
  failure,
  FAILED,
  INVESTIGATED,
  investigating,
  NOT_INVESTIGATED,
  ok,
  PAGE,
  PAGE_SENDER,
  pageContent,
  pass,
  PAYLOAD,
  PRIOR,
  queued,
  REGISTERED,
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

const settled = () => vi.advanceTimersByTimeAsync(0);

async function cached(worker: Worker, tabId = 1): Promise<{ status: TabStatus | null; upgrade: unknown }> {
  const reply: Reply = await worker.receive(write('GET_CACHED', { tabId }), PAGE_SENDER);
  return reply as never;
}

const state = async (worker: Worker, tabId = 1) => (await cached(worker, tabId)).status?.state;
const investigate = (worker: Worker, tabId = 1) => worker.receive(write('INVESTIGATE_NOW', { tabId }), PAGE_SENDER);

describe('a page that is opened', () => {
  it('is registered, then viewed, and its status goes to page, button and storage', async () => {
    const world = new World();
    world.server.says('post.recordViewAndGetStatus', { ...NOT_INVESTIGATED, viewCount: 3 });
    const worker = await world.begin();
    expect(await worker.receive(pageContent(), tab(1))).toEqual({ ok: true });
    expect(world.server.requests.map(({ procedure }) => procedure)).toEqual([
      'post.registerObservedVersion',
      'post.recordViewAndGetStatus',
    ]);
    expect(world.server.requests[1]!.input).toEqual({ postVersionId: 'v1' });
    await settled();
    expect(world.statesOf(1)).toEqual(['checking', 'not_investigated']);
    expect(world.badges.get(1)!.text).toBe('');
    expect(world.area.items.get('tab:1')).toMatchObject({
      externalId: '20',
      viewCount: 3,
      state: { kind: 'not_investigated' },
    });
  });

  it('shows findings that are there already', async () => {
    const world = new World();
    world.server.says('post.recordViewAndGetStatus', {
      ...INVESTIGATED,
      investigationId: 'i 1',
      corroborationCount: 2,
    });
    const worker = await world.begin();
    await worker.receive(pageContent(), tab(1));
    await settled();
    expect(await state(worker)).toMatchObject({ kind: 'investigated', claims: [CLAIM], corroborationCount: 2 });
    expect(world.badges.get(1)).toMatchObject({ text: '1', title: 'badgeFindingsOne' });
    const last = world.told.at(-1)!.message;
    expect(last).toMatchObject({
      type: 'STATE',
      payload: { publicUrl: 'https://errata.example/investigations/i%201' },
    });
    expect(world.server.asked('post.getInvestigation')).toHaveLength(0);
  });

  it('shows an earlier version’s findings as such', async () => {
    const world = new World();
    world.server.says('post.recordViewAndGetStatus', { ...NOT_INVESTIGATED, priorInvestigationResult: PRIOR });
    const worker = await world.begin();
    await worker.receive(pageContent(), tab(1));
    await settled();
    expect(await state(worker)).toEqual({ kind: 'not_investigated', prior: PRIOR });
    expect(world.told.at(-1)!.message).toMatchObject({
      payload: { publicUrl: 'https://errata.example/investigations/i0' },
    });
  });

  it('that is skipped says why and sends nothing', async () => {
    const world = new World();
    const worker = await world.begin();
    const skipped = {
      tabSessionId: 's1',
      platform: 'X' as const,
      externalId: '20',
      pageUrl: PAGE,
      reason: 'private_or_gated' as const,
    };
    expect(await worker.receive(write('PAGE_SKIPPED', skipped), tab(1))).toEqual({ ok: true });
    expect(await state(worker)).toEqual({ kind: 'skipped', reason: 'private_or_gated' });
    expect(world.server.requests).toHaveLength(0);
  });

  it('on a site that is off sends nothing', async () => {
    const world = new World();
    world.area.items.set('sitesOff', ['x.com']);
    const worker = await world.begin();
    expect(await worker.receive(write('HELLO', {}), tab(1))).toEqual({ ok: true, active: false, showHighlights: true });
    expect(await worker.receive(pageContent(), tab(1))).toMatchObject({ ok: false, retryAfterMs: null });
    expect(world.server.requests).toHaveLength(0);
  });

  it('cannot be sent if it says what no page of this platform says', async () => {
    const world = new World();
    const worker = await world.begin();
    const content = { ...CONTENT, contentText: 'a'.repeat(500_001) };
    expect(await worker.receive(pageContent('s1', 0, content), tab(1))).toMatchObject({
      errorCode: 'INVALID_EXTENSION_MESSAGE',
      retryAfterMs: null,
    });
    expect(await state(worker)).toEqual({ kind: 'unanswered', problem: { kind: 'bad_content' } });
    expect(world.server.requests).toHaveLength(0);
  });
});

describe('a reader who moves on', () => {
  it('does not get the last post’s answer on the next', async () => {
    const world = new World();
    const worker = await world.begin();
    let release: (response: Response) => void = () => undefined;
    world.server.answers['post.recordViewAndGetStatus'] = () => new Promise((resolve) => (release = resolve));
    const first = worker.receive(pageContent('s1'), tab(1));
    await vi.waitUntil(() => world.server.asked('post.recordViewAndGetStatus').length === 1);
    await worker.receive(write('PAGE_RESET', { tabSessionId: 's1' }), tab(1));
    world.server.says('post.recordViewAndGetStatus', NOT_INVESTIGATED);
    await worker.receive(pageContent('s2', 0, { ...CONTENT, externalId: '21' }), tab(1));
    release(ok(INVESTIGATED));
    await first;
    expect((await cached(worker)).status).toMatchObject({
      tabSessionId: 's2',
      externalId: '21',
      state: { kind: 'not_investigated' },
    });
  });

  it('leaves no status behind, in this tab or in storage', async () => {
    const world = new World();
    const worker = await world.begin();
    for (const leave of [
      () => worker.receive(write('PAGE_RESET', { tabSessionId: 's1' }), tab(1)),
      () => worker.receive(write('HELLO', {}), tab(1)),
      () => worker.loading(1, null),
      () => worker.loading(1, 'https://elsewhere.example/'),
      () => worker.closed(1),
      () => worker.restarted(),
    ]) {
      await worker.receive(pageContent(), tab(1));
      expect((await cached(worker)).status).not.toBeNull();
      await leave();
      expect([(await cached(worker)).status, world.area.items.has('tab:1')]).toEqual([null, false]);
    }
    await settled();
    expect(world.badges.get(1)!.text).toBe('');
  });

  it('keeps it within the same site, and a late farewell of an older session changes nothing', async () => {
    const world = new World();
    const worker = await world.begin();
    await worker.receive(pageContent('s2'), tab(1));
    await worker.loading(1, 'https://x.com/other');
    await worker.receive(write('PAGE_RESET', { tabSessionId: 's1' }), tab(1));
    expect((await cached(worker)).status).not.toBeNull();
  });
});

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
      waits.push((await worker.receive(pageContent('s1', attempt), tab(1)))['retryAfterMs']);
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
    expect(reply['errorCode']).toBe(errorCode);
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

describe('settings', () => {
  it('reach every open page, each with what holds for it', async () => {
    const world = new World();
    world.tabs = [
      { id: 1, url: PAGE },
      { id: 2, url: 'https://de.wikipedia.org/wiki/Mond' },
    ];
    const worker = await world.begin();
    await worker.receive(write('SET_SITE', { site: 'wikipedia.org', off: true }), PAGE_SENDER);
    await settled();
    const told = world.told.filter(({ message }) => message.type === 'PAGE_SETTINGS');
    expect(told.map(({ tabId, message }) => [tabId, message.payload])).toEqual([
      [1, { active: true, showHighlights: true }],
      [2, { active: false, showHighlights: true }],
    ]);
    await worker.receive(write('SET_HIGHLIGHTS', { shown: false }), PAGE_SENDER);
    await settled();
    expect(world.told.at(-1)!.message.payload).toEqual({ active: false, showHighlights: false });
    await worker.receive(write('SET_SITE', { site: 'wikipedia.org', off: false }), PAGE_SENDER);
    expect(world.area.items.get('sitesOff')).toEqual([]);
  });

  it('can be reached by keyboard', async () => {
    const world = new World();
    const worker = await world.begin();
    await worker.command('toggle-highlights');
    expect(world.area.items.get('showHighlights')).toBe(false);
    await worker.command('next-finding');
    await worker.command('previous-finding');
    world.activeTab = null;
    await worker.command('next-finding');
    const steps = world.told.flatMap(({ message }) => (message.type === 'STEP' ? [message.payload.to] : []));
    expect(steps).toEqual(['next', 'previous']);
  });
});

describe('a publication’s own domain', () => {
  const HOST = 'letters.example';
  const URL = `https://${HOST}/p/one`;

  it('is used once the browser allows it, and as long as it does', async () => {
    const world = new World();
    const worker = await world.begin();
    await worker.receive(write('ADD_SITE', { host: HOST }), PAGE_SENDER);
    expect(world.registered).toEqual([]);
    world.allowedSites.add(`https://${HOST}/*`);
    await worker.permitted();
    expect(world.registered).toEqual([HOST]);
    expect(await worker.receive(write('HELLO', {}), tab(1, URL))).toMatchObject({ active: true });
    world.allowedSites.clear();
    await worker.permitted();
    expect(world.registered).toEqual([]);
  });

  it('is left again, and its permission given back', async () => {
    const world = new World();
    world.allowedSites.add(`https://${HOST}/*`);
    const worker = await world.begin();
    await worker.receive(write('ADD_SITE', { host: HOST }), PAGE_SENDER);
    expect(world.registered).toEqual([HOST]);
    await worker.receive(write('REMOVE_SITE', { host: HOST }), PAGE_SENDER);
    expect([world.registered, [...world.allowedSites]]).toEqual([[], []]);
    expect(await worker.receive(write('HELLO', {}), tab(1, URL))).toMatchObject({ active: false });
  });

  it('that nobody added is not active', async () => {
    const world = new World();
    const worker = await world.begin();
    expect(await worker.receive(write('HELLO', {}), tab(1, URL))).toMatchObject({ active: false });
    expect(await worker.receive(pageContent(), tab(1, URL))).toMatchObject({ ok: false, retryAfterMs: null });
  });

  it('and a server, once allowed, are tried again', async () => {
    const world = new World();
    world.server.up = world.server.permitted = false;
    const worker = await world.begin();
    await worker.receive(pageContent(), tab(1));
    world.server.up = world.server.permitted = true;
    await worker.permitted();
    expect(world.sent('RESYNC')).toEqual([1]);
  });
});

describe('messages', () => {
  it('of another version are told apart from bad ones', async () => {
    const worker = await new World().begin();
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
    const worker = await new World().begin();
    expect(await worker.receive(message, PAGE_SENDER)).toMatchObject({
      ok: false,
      errorCode: 'INVALID_EXTENSION_MESSAGE',
    });
  });

  it('of the extension’s own pages do nothing when a page’s script sends them, nor the reverse', async () => {
    const world = new World();
    const worker = await world.begin();
    expect(await worker.receive(write('SET_SITE', { site: 'x.com', off: true }), tab(1))).toMatchObject({ ok: false });
    expect(await worker.receive(pageContent(), PAGE_SENDER)).toMatchObject({ ok: false });
    expect([world.area.items.has('sitesOff'), world.server.requests.length]).toEqual([false, 0]);
  });

  it('start a page’s script where there is none', async () => {
    const world = new World();
    const worker = await world.begin();
    await worker.receive(write('RETRY', { tabId: 5 }), PAGE_SENDER);
    expect([world.started, world.sent('RESYNC')]).toEqual([[5], []]);
  });
});

describe('where claims stand', () => {
  it('is kept for the popup', async () => {
    const world = new World();
    const worker = await world.begin();
    await worker.receive(pageContent(), tab(1));
    await worker.anchored(1, { c1: 'changed' });
    expect((await cached(worker)).status!.outcomes).toEqual({ c1: 'changed' });
  });
});
