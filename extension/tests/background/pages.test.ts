import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { write } from '../../src/protocol/messages';
import {
  cached,
  CLAIM,
  CONTENT,
  INVESTIGATED,
  NOT_INVESTIGATED,
  ok,
  PAGE,
  pageContent,
  PRIOR,
  settled,
  state,
  stopTime,
  tab,
  FakeEnvironment,
} from './fakes';

beforeEach(stopTime);
afterEach(() => void vi.useRealTimers());

describe('a page that is opened', () => {
  it('is registered, then viewed, and its status goes to page, button and storage', async () => {
    const environment = new FakeEnvironment();
    environment.server.says('post.recordViewAndGetStatus', { ...NOT_INVESTIGATED, viewCount: 3 });
    const worker = await environment.begin();
    expect(await worker.receive(pageContent(), tab(1))).toEqual({ ok: true });
    expect(environment.server.requests.map(({ procedure }) => procedure)).toEqual([
      'post.registerObservedVersion',
      'post.recordViewAndGetStatus',
    ]);
    expect(environment.server.requests[1]!.input).toEqual({ postVersionId: 'v1' });
    await settled();
    expect(environment.statesOf(1)).toEqual(['checking', 'not_investigated']);
    expect(environment.badges.get(1)!.text).toBe('');
    expect(environment.area.items.get('tab:1')).toMatchObject({
      externalId: '20',
      viewCount: 3,
      state: { kind: 'not_investigated' },
    });
  });

  it('shows findings that are there already', async () => {
    const environment = new FakeEnvironment();
    environment.server.says('post.recordViewAndGetStatus', {
      ...INVESTIGATED,
      investigationId: 'i 1',
      corroborationCount: 2,
    });
    const worker = await environment.begin();
    await worker.receive(pageContent(), tab(1));
    await settled();
    expect(await state(worker)).toMatchObject({ kind: 'investigated', claims: [CLAIM], corroborationCount: 2 });
    expect(environment.badges.get(1)).toMatchObject({ text: '1', title: 'badgeFindingsOne' });
    const last = environment.messages.at(-1)!.message;
    expect(last).toMatchObject({
      type: 'STATE',
      payload: { publicUrl: 'https://errata.example/investigations/i%201' },
    });
    expect(environment.server.asked('post.getInvestigation')).toHaveLength(0);
  });

  it('shows an earlier version’s findings as such', async () => {
    const environment = new FakeEnvironment();
    environment.server.says('post.recordViewAndGetStatus', { ...NOT_INVESTIGATED, priorInvestigationResult: PRIOR });
    const worker = await environment.begin();
    await worker.receive(pageContent(), tab(1));
    await settled();
    expect(await state(worker)).toEqual({ kind: 'not_investigated', prior: PRIOR });
    expect(environment.messages.at(-1)!.message).toMatchObject({
      payload: { publicUrl: 'https://errata.example/investigations/i0' },
    });
  });

  it('that is skipped has a reason and sends nothing', async () => {
    const environment = new FakeEnvironment();
    const worker = await environment.begin();
    const skipped = {
      tabSessionId: 's1',
      platform: 'X' as const,
      externalId: '20',
      pageUrl: PAGE,
      reason: 'private_or_gated' as const,
    };
    expect(await worker.receive(write('PAGE_SKIPPED', skipped), tab(1))).toEqual({ ok: true });
    expect(await state(worker)).toEqual({ kind: 'skipped', reason: 'private_or_gated' });
    expect(environment.server.requests).toHaveLength(0);
  });

  it('on a site that is off sends nothing', async () => {
    const environment = new FakeEnvironment();
    environment.area.items.set('sitesOff', ['x.com']);
    const worker = await environment.begin();
    expect(await worker.receive(write('HELLO', {}), tab(1))).toEqual({
      ok: true,
      active: false,
      showHighlights: true,
      checks: false,
    });
    expect(await worker.receive(pageContent(), tab(1))).toMatchObject({ ok: false, retryAfterMs: null });
    expect(environment.server.requests).toHaveLength(0);
  });

  it('cannot be sent with metadata that its platform does not have', async () => {
    const environment = new FakeEnvironment();
    const worker = await environment.begin();
    const content = { ...CONTENT, contentText: 'a'.repeat(500_001) };
    expect(await worker.receive(pageContent('s1', 0, content), tab(1))).toMatchObject({
      errorCode: 'INVALID_EXTENSION_MESSAGE',
      retryAfterMs: null,
    });
    expect(await state(worker)).toEqual({ kind: 'unanswered', problem: { kind: 'bad_content' } });
    expect(environment.server.requests).toHaveLength(0);
  });
});

describe('a reader who moves on', () => {
  it('does not get the last post’s answer on the next', async () => {
    const environment = new FakeEnvironment();
    const worker = await environment.begin();
    let release: (response: Response) => void = () => undefined;
    environment.server.answers['post.recordViewAndGetStatus'] = () => new Promise((resolve) => (release = resolve));
    const first = worker.receive(pageContent('s1'), tab(1));
    await vi.waitUntil(() => environment.server.asked('post.recordViewAndGetStatus').length === 1);
    await worker.receive(write('PAGE_RESET', { tabSessionId: 's1' }), tab(1));
    environment.server.says('post.recordViewAndGetStatus', NOT_INVESTIGATED);
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
    const environment = new FakeEnvironment();
    const worker = await environment.begin();
    for (const leave of [
      () => worker.receive(write('PAGE_RESET', { tabSessionId: 's1' }), tab(1)),
      () => worker.receive(write('HELLO', {}), tab(1)),
      () => worker.onTabLoading(1, null),
      () => worker.onTabLoading(1, 'https://elsewhere.example/'),
      () => worker.onTabClosed(1),
      () => worker.onRestart(),
    ]) {
      await worker.receive(pageContent(), tab(1));
      expect((await cached(worker)).status).not.toBeNull();
      await leave();
      expect([(await cached(worker)).status, environment.area.items.has('tab:1')]).toEqual([null, false]);
    }
    await settled();
    expect(environment.badges.get(1)!.text).toBe('');
  });

  it('keeps it within the same site, and a late farewell of an older session changes nothing', async () => {
    const environment = new FakeEnvironment();
    const worker = await environment.begin();
    await worker.receive(pageContent('s2'), tab(1));
    await worker.onTabLoading(1, 'https://x.com/other');
    await worker.receive(write('PAGE_RESET', { tabSessionId: 's1' }), tab(1));
    expect((await cached(worker)).status).not.toBeNull();
  });
});

describe('where claims stand', () => {
  it('is kept for the popup', async () => {
    const environment = new FakeEnvironment();
    const worker = await environment.begin();
    await worker.receive(pageContent(), tab(1));
    await worker.recordOutcomes(1, { c1: 'changed' });
    expect((await cached(worker)).status!.outcomes).toEqual({ c1: 'changed' });
  });
});
