import { createHash } from 'node:crypto';

import { describe, expect, it, vi } from 'vitest';

import { keyOf, prefixOf } from '../../src/lookup/files';
import { NOTICES_KEY } from '../../src/settings/notices';
import { decodeBase64 } from '../../src/tlog/encoding';
import { frame } from '../lookup/build';
import { requirement } from '../requirement';
import { CASES, proofOf } from '../tlog/decision_cases';
import {
  BASE,
  cached,
  CONTENT,
  DONE,
  FakeEnvironment,
  investigate,
  pageContent,
  queued,
  quiet,
  state,
  tab,
} from './fakes';

const DAY_MS = 86_400_000;
const NOW = Date.parse('2026-11-25T12:00:00Z');
const CONTENT_HASH = createHash('sha256').update(CONTENT.contentText).digest('hex');
const KEY = await keyOf('X', '20');
const BUCKET = prefixOf(KEY, 6);
const FOUND = {
  contentHash: CONTENT_HASH,
  revisions: ['7'],
  investigation: CASES.investigation,
  proof: new TextDecoder().decode(proofOf('found')),
};

/** A private reader, and a server with look-ups. */
class PrivateReader extends FakeEnvironment {
  override now = NOW;

  constructor(versions: readonly object[] = [FOUND], clear: readonly string[] = []) {
    super();
    this.area.items.set('mode', 'private');
    this.area.items.set('apiKey', 'instance');
    this.layout();
    this.server.answers.policy = () => new Response(decodeBase64(CASES.policy));
    this.holds(versions, clear);
    for (const day of ['2026-11-25', '2026-11-24', '2026-11-23']) this.takesBack(day, {});
  }

  layout(more: object = {}): void {
    const layout = { v: 1, layout: 'b6', bits: 6, paused: false, firstDay: '2026-11-01', ...more };
    this.server.answers['layout.json'] = () => Response.json(layout);
  }

  holds(versions: readonly object[], clear: readonly string[] = []): void {
    const posts = versions.length === 0 ? [] : [{ key: KEY, versions }];
    const etag = createHash('sha256')
      .update(JSON.stringify([posts, clear]))
      .digest('hex');
    this.server.answers[BUCKET] = ({ headers }) =>
      headers.get('if-none-match') === etag
        ? new Response(null, { status: 304 })
        : new Response(frame({ v: 1, checkpoint: '', posts, clear }), { headers: { etag } });
  }

  takesBack(day: string, states: Readonly<Record<string, string>>): void {
    const claims = Object.entries(states).map(([id, state]) => ({ id, state, cause: null, at: `${day}T01:00:00Z` }));
    this.server.answers[day] = () => new Response(frame({ v: 1, day, claims }));
  }

  asked(): string[] {
    return this.server.requests.map(({ procedure }) => procedure);
  }

  /** What the reader is to be told. */
  get notices(): unknown {
    return this.area.items.get(NOTICES_KEY);
  }
}

/** Look at the page in the first tab, all that this sets off included. */
async function look(environment: PrivateReader, session = 's1', content: object = CONTENT) {
  const worker = await environment.begin();
  await worker.receive(pageContent(session, 0, content), tab(1));
  await quiet();
  const { status } = await cached(worker);
  return { worker, state: status!.state, proof: status!.proof };
}

describe(requirement('TR-21', 'Private reading sends layout, prefix and day file, and nothing identifying'), () => {
  it('asks for files that are the same for everybody, with nothing of its own', async () => {
    const environment = new PrivateReader();
    const urls = vi.spyOn(environment.server, 'fetch');
    await look(environment);
    expect(urls.mock.calls.map(([url]) => url)).toEqual([
      `${BASE}/log/v1/policy`,
      `${BASE}/lookup/v1/layout.json`,
      `${BASE}/lookup/v1/b6/${BUCKET}`,
      `${BASE}/lookup/v1/retractions/2026-11-25`,
    ]);
    for (const [, init] of urls.mock.calls) {
      expect(init).toMatchObject({ method: 'GET', credentials: 'omit', referrerPolicy: 'no-referrer' });
      expect([{}, { 'accept-language': '*' }]).toContainEqual(Object.fromEntries(new Headers(init.headers)));
    }
  });

  it('asks for a bucket only whether it has changed, and not at all within a minute', async () => {
    const environment = new PrivateReader();
    await look(environment);
    await look(environment, 's2');
    expect(environment.asked().filter((name) => name === BUCKET)).toHaveLength(1);
    environment.now += 61_000;
    const { state } = await look(environment, 's3');
    const [, second] = environment.server.asked(BUCKET);
    expect(second!.headers.get('if-none-match')).toMatch(/^\w{64}$/);
    expect(state).toMatchObject({ kind: 'investigated' });
  });

  it('asks at once after the clock was set back', async () => {
    const environment = new PrivateReader();
    await look(environment);
    environment.now -= DAY_MS;
    await look(environment, 's2');
    expect(environment.asked().filter((name) => name === BUCKET)).toHaveLength(2);
  });

  it('keeps the newest files alone', async () => {
    const environment = new PrivateReader();
    const names = Array.from({ length: 24 }, (_, index) => `lookup:${index}`);
    for (const name of names) environment.memory.items.set(name, {});
    environment.memory.items.set('lookups', names);
    await look(environment);
    const kept = [...environment.memory.items.keys()].filter((key) => key.startsWith('lookup:'));
    expect(kept).toHaveLength(24);
    expect(kept).not.toContain('lookup:0');
    expect(environment.memory.items.get('lookups')).toHaveLength(24);
  });

  it('finds the same in a browser that has no room to remember anything', async () => {
    const environment = new PrivateReader();
    vi.spyOn(environment.memory, 'set').mockRejectedValue(new Error('QUOTA_BYTES quota exceeded'));
    expect((await look(environment)).state).toMatchObject({ kind: 'investigated' });
  });

  it('asks under a new layout where its own is not known any more', async () => {
    const environment = new PrivateReader();
    await look(environment);
    environment.now += 30_000;
    const old = environment.server.answers[BUCKET]!;
    environment.layout({ layout: 'b0', bits: 0 });
    environment.server.answers[BUCKET] = () => new Response('', { status: 404 });
    environment.server.answers.all = old;
    const clean = [...environment.memory.items.keys()].filter((key) => key.endsWith(`/${BUCKET}`));
    await environment.memory.remove(clean);
    expect((await look(environment, 's2')).state).toMatchObject({ kind: 'investigated' });
    expect(environment.asked().at(-1)).toBe('all');
  });
});

describe(requirement('TR-24', 'A private reader’s findings are shown with no further request'), () => {
  it('shows what the bucket’s proof carries', async () => {
    const { state, proof } = await look(new PrivateReader());
    const claims = CASES.findings.map((finding) => ({ ...finding, reasoning: '' }));
    expect(state).toMatchObject({ kind: 'investigated', provenance: 'SERVER_VERIFIED', claims });
    expect(proof).toEqual({ kind: 'proven', index: '6', cosignatures: 2 });
  });

  it.each<[string, object, string]>([
    ['a proof without quorum', { proof: textOf('without quorum') }, 'log_contradicts'],
    ['words that were not logged', { proof: textOf('other words') }, 'log_contradicts'],
    ['another investigation', { investigation: '0191c1a2-0000-7000-8000-000000000002' }, 'log_contradicts'],
    ['another text under its name', { contentHash: 'ab'.repeat(32) }, 'log_contradicts'],
    ['nothing that is a proof', { proof: '' }, 'log_contradicts'],
    ['an erased decision', { proof: textOf('erased') }, 'unproven'],
  ])('shows nothing of %s', async (_, changes, problem) => {
    const environment = new PrivateReader([]);
    const { state } = await look(environment, 's1', await onWikipedia(environment, { ...FOUND, ...changes }));
    expect(state).toEqual({ kind: 'unanswered', problem: { kind: problem } });
    expect(JSON.stringify(environment.messages)).not.toContain('cheese');
  });

  it('shows only what the proof still opens, and nothing where it opens no finding', async () => {
    const { state } = await look(new PrivateReader([{ ...FOUND, proof: opening([0, 2]) }]));
    expect(state).toMatchObject({ kind: 'investigated', claims: [{ id: 'c2' }] });
    const environment = new PrivateReader([{ ...FOUND, proof: opening([0]) }]);
    expect((await look(environment)).state).toMatchObject({ problem: { kind: 'unproven' } });
  });

  it('shows what was found in the version that the site names', async () => {
    const environment = new PrivateReader([]);
    const { state } = await look(environment, 's1', {
      ...(await onWikipedia(environment, FOUND)),
      contentText: 'The Moon is made of cheese. A line of a template.',
    });
    expect(state).toMatchObject({ kind: 'investigated' });
  });

  it('shows nothing without the rules of the log, and keeps none that confirmed nothing', async () => {
    const environment = new PrivateReader();
    environment.server.answers.policy = () => new Response('', { status: 404 });
    expect((await look(environment)).state).toMatchObject({ problem: { kind: 'unproven' } });
    environment.server.answers.policy = () => new Response('quorum none\n');
    expect((await look(environment, 's2')).state).toMatchObject({ problem: { kind: 'log_contradicts' } });
    environment.server.answers.policy = () => new Response(decodeBase64(CASES.policy));
    expect((await look(environment, 's3')).state).toMatchObject({ kind: 'investigated' });
  });

  it('takes an older tree of the log, but none that contradicts it', async () => {
    const environment = new PrivateReader([{ ...FOUND, proof: textOf('larger') }]);
    await look(environment);
    for (const [name, kind] of [
      ['smaller', 'investigated'],
      ['larger', 'investigated'],
    ] as const) {
      environment.now += 61_000;
      environment.holds([{ ...FOUND, proof: textOf(name) }]);
      expect([name, (await look(environment, name)).state.kind]).toEqual([name, kind]);
    }
    const other = new PrivateReader();
    await look(other);
    other.now += 61_000;
    other.holds([{ ...FOUND, proof: textOf('fork') }]);
    expect((await look(other, 's2')).state).toMatchObject({ problem: { kind: 'log_contradicts' } });
  });
});

/** The proof of what was found, with these of its documents only. */
function opening(places: readonly number[]): string {
  return textOf('found').replace(/^extra (.*)$/m, (_, packed: string) => {
    const extra = JSON.parse(Buffer.from(packed, 'base64').toString()) as { leaf: string; openings: { j: number }[] };
    const openings = extra.openings.filter(({ j }) => places.includes(j));
    return `extra ${Buffer.from(JSON.stringify({ ...extra, openings })).toString('base64')}`;
  });
}

/** The same post on a site whose pages say which version they show, in the bucket of that post. */
async function onWikipedia(environment: PrivateReader, version: object): Promise<object> {
  const key = await keyOf('WIKIPEDIA', 'en:20');
  const bucket = { v: 1, checkpoint: '', posts: [{ key, versions: [version] }], clear: [] };
  environment.server.answers[prefixOf(key, 6)] = () => new Response(frame(bucket));
  const metadata = { language: 'en', title: 'Moon', pageId: '20', revisionId: '7' };
  return { ...CONTENT, platform: 'WIKIPEDIA', externalId: 'en:20', metadata };
}

function textOf(name: string): string {
  return new TextDecoder().decode(proofOf(name));
}

describe(requirement('TR-25', 'Another version of a post is said and never underlined'), () => {
  it('says that another version was checked, and shows nothing of it', async () => {
    const environment = new PrivateReader();
    const { state } = await look(environment, 's1', { ...CONTENT, contentText: `${CONTENT.contentText} Edited.` });
    expect(state).toEqual({ kind: 'other_version', investigationId: CASES.investigation });
    expect(JSON.stringify(environment.messages)).not.toContain('basalt');
  });

  it('says that nothing was found in exactly this text', async () => {
    const name = createHash('sha256')
      .update(Buffer.from(KEY + CONTENT_HASH, 'hex'))
      .digest('hex')
      .slice(0, 16);
    const { state } = await look(new PrivateReader([], [name]));
    expect(state).toMatchObject({ kind: 'investigated', claims: [] });
    expect((await look(new PrivateReader([], ['0'.repeat(16)]))).state.kind).toBe('not_investigated');
  });
});

describe('a private reader', () => {
  it('is told what is wrong with the server, once, without an alert', async () => {
    for (const [answer, problem] of [
      [() => new Response('', { status: 404 }), 'no_lookups'],
      [() => new Response('<!doctype html>'), 'bad_answer'],
      [() => Response.json({ v: 1, layout: 'b6', bits: 17, paused: false }), 'bad_answer'],
      [() => Promise.reject(new TypeError('Failed to fetch')), 'server_down'],
      [() => new Response('', { status: 503 }), 'server_down'],
    ] as const) {
      const environment = new PrivateReader();
      environment.server.answers['layout.json'] = answer;
      expect((await look(environment)).state).toEqual({ kind: 'unanswered', problem: { kind: problem } });
      expect(environment.asked()).not.toContain('post.registerObservedVersion');
    }
  });

  it('is shown nothing while the server is stopped', async () => {
    const environment = new PrivateReader();
    const { worker } = await look(environment);
    environment.now += 61_000;
    environment.layout({ paused: true });
    await worker.refresh();
    expect(await state(worker)).toEqual({ kind: 'unanswered', problem: { kind: 'paused' } });
    environment.now += 61_000;
    environment.layout();
    await worker.refresh();
    expect(await state(worker)).toMatchObject({ kind: 'investigated' });
  });

  it('is shown changes while the page is open, and keeps what it sees when nothing answers', async () => {
    const environment = new PrivateReader([]);
    const { worker, state: before } = await look(environment);
    expect(before.kind).toBe('not_investigated');
    expect(environment.refreshes).toHaveLength(1);
    environment.now += 10 * 60_000;
    environment.holds([FOUND]);
    await worker.refresh();
    expect(await state(worker)).toMatchObject({ kind: 'investigated' });
    environment.now += 10 * 60_000;
    environment.server.up = false;
    await worker.refresh();
    expect(await state(worker)).toMatchObject({ kind: 'investigated' });
    for (const minutes of environment.refreshes) expect(Math.abs(minutes - 10)).toBeLessThanOrEqual(3);
    await worker.onTabClosed(1);
    await worker.refresh();
    expect(environment.refreshes).toHaveLength(3);
  });

  it('is not shown what was found for the page before', async () => {
    const environment = new PrivateReader();
    const worker = await environment.begin();
    const answer = environment.server.answers[BUCKET]!;
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    environment.server.answers[BUCKET] = async (request) => {
      await released;
      return answer(request);
    };
    const before = worker.receive(pageContent('s1'), tab(1));
    await quiet();
    const other = { ...CONTENT, externalId: '21' };
    environment.server.answers[prefixOf(await keyOf('X', '21'), 6)] = () => new Response('', { status: 503 });
    await worker.receive(pageContent('s2', 0, other), tab(1));
    release();
    await before;
    expect(await state(worker)).toEqual({ kind: 'unanswered', problem: { kind: 'server_down' } });
  });

  it('is not answered from the files of another server', async () => {
    const environment = new PrivateReader();
    const { worker } = await look(environment);
    environment.area.items.set('apiBaseUrl', 'https://other.example');
    environment.holds([]);
    await worker.receive(pageContent('s2'), tab(1));
    expect(await state(worker)).toMatchObject({ kind: 'not_investigated' });
  });

  it('gives the server one post by asking for an investigation, and no other', async () => {
    const environment = new PrivateReader([]);
    const { worker } = await look(environment);
    environment.server.says('post.investigateNow', queued());
    environment.server.says('post.getInvestigation', DONE);
    await investigate(worker);
    expect(environment.sent('RESYNC')).toEqual([1]);
    await worker.receive(pageContent('s2'), tab(1));
    expect(environment.asked()).toEqual(
      expect.arrayContaining(['post.registerObservedVersion', 'post.investigateNow']),
    );
    expect((await cached(worker)).status).toMatchObject({ lookup: null, postVersionId: 'v1' });
    const sent = environment.server.asked('post.registerObservedVersion').length;
    await worker.receive(pageContent('s3'), tab(1));
    await investigate(worker);
    await worker.receive(pageContent('s4', 0, { ...CONTENT, externalId: '21' }), tab(1));
    await worker.receive(pageContent('s5', 0, CONTENT), tab(2));
    expect(environment.server.asked('post.registerObservedVersion')).toHaveLength(sent);
  });

  it('is not investigated for, whatever the settings say', async () => {
    const environment = new PrivateReader([]);
    environment.area.items.set('autoInvestigate', true);
    environment.area.items.set('openaiApiKey', 'sk-own');
    await look(environment);
    expect(environment.asked().filter((name) => name.startsWith('post.'))).toEqual([]);
  });
});

describe('an installation', () => {
  it('that is new sends nothing before its reader has chosen', async () => {
    const environment = new PrivateReader();
    environment.area.items.set('mode', '');
    const worker = await environment.begin();
    expect(await worker.onInstalled(true)).toBe(true);
    expect(environment.area.items.get('mode')).toBe('ask');
    const { active } = (await worker.receive({ v: 1, type: 'HELLO', payload: {} }, tab(1))) as { active?: boolean };
    expect(active).toBe(false);
    await worker.receive(pageContent(), tab(1));
    expect(environment.asked()).toEqual([]);
    // Neither does a later version of the extension choose for its reader.
    expect(await worker.onInstalled(false)).toBe(false);
    expect(environment.area.items.get('mode')).toBe('ask');
  });

  it.each([
    ['with an instance key', { apiKey: 'instance', autoInvestigate: false }, false],
    ['that investigates by itself', { apiKey: '', autoInvestigate: true }, false],
    ['without both', { apiKey: '', autoInvestigate: false }, true],
  ])('of before, %s, keeps what it had, and its reader is told once', async (_, settings, told) => {
    const environment = new PrivateReader();
    for (const [key, value] of Object.entries({ ...settings, mode: '' })) environment.area.items.set(key, value);
    const worker = await environment.begin();
    expect(await worker.onInstalled(false)).toBe(told);
    expect(environment.area.items.get('mode')).toBe('full');
    expect(await worker.onInstalled(false)).toBe(false);
  });
});

describe(requirement('TR-34', 'Who saw a finding that is taken back gets one notice'), () => {
  it.each(['RETRACTED', 'SUSPENDED'])('after two days offline, once: %s', async (taken) => {
    const environment = new PrivateReader();
    await look(environment);
    environment.now += 2 * DAY_MS;
    environment.takesBack('2026-11-26', { c1: taken, c9: 'RETRACTED' });
    environment.takesBack('2026-11-27', { c2: 'RELEASED' });
    const { worker } = await look(environment, 's2');
    await worker.refresh();
    expect(environment.notices).toEqual(['c1']);
    expect(environment.badges.get(null)).toMatchObject({ title: 'badgeRetracted' });
    environment.area.items.delete(NOTICES_KEY);
    environment.now += DAY_MS;
    environment.takesBack('2026-11-28', { c1: 'RETRACTED' });
    await (await look(environment, 's3')).worker.refresh();
    expect(environment.notices).toBeUndefined();
  });

  it('not where it was released again meanwhile', async () => {
    const environment = new PrivateReader();
    await look(environment);
    environment.now += DAY_MS;
    environment.takesBack('2026-11-25', { c1: 'SUSPENDED' });
    environment.takesBack('2026-11-26', { c1: 'RELEASED' });
    await (await look(environment, 's2')).worker.refresh();
    expect(environment.notices).toBeUndefined();
  });

  it('though the server could not be asked at first', async () => {
    const environment = new PrivateReader();
    const { worker } = await look(environment);
    environment.now += DAY_MS;
    environment.server.up = false;
    await worker.refresh();
    environment.server.up = true;
    environment.takesBack('2026-11-25', { c1: 'RETRACTED' });
    environment.takesBack('2026-11-26', {});
    environment.now += 11 * 60_000;
    await worker.refresh();
    expect(environment.notices).toEqual(['c1']);
  });

  it('though it was taken back in the last minutes of a day that the file was read after', async () => {
    const environment = new PrivateReader();
    environment.now = Date.parse('2026-11-26T00:00:30Z');
    environment.takesBack('2026-11-26', {});
    const { worker } = await look(environment);
    environment.takesBack('2026-11-25', { c1: 'RETRACTED' });
    environment.now += 11 * 60_000;
    await worker.refresh();
    expect(environment.notices).toEqual(['c1']);
  });

  it('in full mode too, where nobody who saw nothing asks', async () => {
    const environment = new PrivateReader();
    environment.area.items.set('mode', 'full');
    environment.server.answers.policy = () => new Response('', { status: 404 });
    await look(environment);
    expect(environment.asked()).not.toContain('2026-11-25');
    environment.server.says('post.recordViewAndGetStatus', {
      investigationState: 'INVESTIGATED',
      provenance: 'SERVER_VERIFIED',
      claims: CASES.findings,
    });
    environment.takesBack('2026-11-25', { c2: 'RETRACTED' });
    const { worker } = await look(environment, 's2');
    await worker.refresh();
    expect(environment.notices).toEqual(['c2']);
    expect(Object.fromEntries(environment.server.asked('2026-11-25')[0]!.headers)).toEqual({ 'accept-language': '*' });
  });

  it('and the server cannot tell who saw nothing: a private reader reads the files all the same', async () => {
    const environment = new PrivateReader([]);
    const { worker } = await look(environment);
    environment.now += DAY_MS;
    environment.takesBack('2026-11-26', {});
    await worker.refresh();
    expect(environment.area.items.get('seen')).toEqual({ claims: {}, compared: environment.now });
    expect(environment.asked()).toEqual(expect.arrayContaining(['2026-11-25', '2026-11-26']));
  });

  it('and nothing happens where the server has no such files', async () => {
    const environment = new PrivateReader();
    await look(environment);
    environment.now += DAY_MS;
    for (const day of ['2026-11-25', '2026-11-26'])
      environment.server.answers[day] = () => new Response('', { status: 404 });
    const { state } = await look(environment, 's2');
    expect(state.kind).toBe('investigated');
    expect(environment.notices).toBeUndefined();
  });

  it('and nothing is kept of what was seen in a window that is to leave no trace', async () => {
    const environment = new PrivateReader();
    environment.traceless.add(1);
    const { state } = await look(environment);
    expect(state).toMatchObject({ kind: 'investigated' });
    expect(environment.area.items.get('seen')).toEqual({ claims: {}, compared: environment.now });
  });

  it('remembers 5,000 findings for 400 days', async () => {
    const environment = new PrivateReader();
    const seen = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`old${index}`, NOW - index]));
    environment.area.items.set('seen', { claims: { ...seen, ancient: NOW - 401 * DAY_MS }, compared: NOW });
    await look(environment);
    const { claims } = environment.area.items.get('seen') as { claims: Record<string, number> };
    expect(Object.keys(claims)).toHaveLength(5_000);
    expect(claims).toMatchObject({ c1: NOW, c2: NOW, old4999: NOW - 4_999 });
    expect(claims.ancient).toBeUndefined();
    expect(claims.old0).toBeUndefined();
  });
});
