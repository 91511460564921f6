import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { write } from '../../src/protocol/messages';
import {
  FakeEnvironment,
  investigating,
  PAGE,
  PAGE_SENDER,
  pageContent,
  pass,
  settled,
  state,
  stopTime,
  tab,
} from './fakes';

beforeEach(stopTime);
afterEach(() => void vi.useRealTimers());

describe('settings', () => {
  it('reach every open page, each with what holds for it', async () => {
    const environment = new FakeEnvironment();
    environment.tabs = [
      { id: 1, url: PAGE },
      { id: 2, url: 'https://de.wikipedia.org/wiki/Mond' },
    ];
    const worker = await environment.begin();
    await worker.receive(write('SET_SITE', { site: 'wikipedia.org', off: true }), PAGE_SENDER);
    await settled();
    const messages = environment.messages.filter(({ message }) => message.type === 'PAGE_SETTINGS');
    expect(messages.map(({ tabId, message }) => [tabId, message.payload])).toEqual([
      [1, { active: true, showHighlights: true, checks: false }],
      [2, { active: false, showHighlights: true, checks: false }],
    ]);
    await worker.receive(write('SET_HIGHLIGHTS', { shown: false }), PAGE_SENDER);
    await settled();
    expect(environment.messages.at(-1)!.message.payload).toEqual({
      active: false,
      showHighlights: false,
      checks: false,
    });
    await worker.receive(write('SET_SITE', { site: 'wikipedia.org', off: false }), PAGE_SENDER);
    expect(environment.area.items.get('sitesOff')).toEqual([]);
  });

  it('changed at once are all kept', async () => {
    const environment = new FakeEnvironment();
    const worker = await environment.begin();
    const off = (site: string) => worker.receive(write('SET_SITE', { site, off: true }), PAGE_SENDER);
    await Promise.all([off('wikipedia.org'), off('x.com')]);
    expect(environment.area.items.get('sitesOff')).toEqual(['wikipedia.org', 'x.com']);
  });

  it('of how posts are looked up hold for the pages that are open', async () => {
    const environment = new FakeEnvironment();
    environment.tabs = [{ id: 1, url: PAGE }];
    environment.area.items.set('mode', 'ask');
    const worker = await environment.begin();
    await environment.area.set({ mode: 'full' });
    await settled();
    expect(environment.messages).toMatchObject([{ tabId: 1, message: { payload: { active: true } } }]);
    await worker.receive(pageContent(), tab(1));
    await environment.area.set({ mode: 'private' });
    await settled();
    expect(environment.sent('RESYNC')).toEqual([1]);
  });

  it('of how posts are looked up end what was asked about pages that do not answer', async () => {
    const environment = new FakeEnvironment();
    environment.server.says('post.recordViewAndGetStatus', investigating(0, 0, { investigationId: 'i1' }));
    environment.server.says('post.getInvestigation', investigating(0, 0));
    const worker = await environment.begin();
    await worker.receive(pageContent(), tab(1));
    await pass(6_000);
    const asked = environment.server.asked('post.getInvestigation').length;
    expect(asked).toBeGreaterThan(0);
    await environment.area.set({ mode: 'private' });
    await pass(60_000);
    expect(environment.server.asked('post.getInvestigation')).toHaveLength(asked);
    expect(await state(worker)).toBeUndefined();
  });

  it.each(['post.registerObservedVersion', 'post.recordViewAndGetStatus'])(
    'of how posts are looked up hold while %s is on its way',
    async (procedure) => {
      const environment = new FakeEnvironment();
      environment.area.items.set('autoInvestigate', true);
      environment.area.items.set('openaiApiKey', 'sk-own');
      const answer = environment.server.answers[procedure]!;
      environment.server.answers[procedure] = async (request) => {
        await environment.area.set({ mode: 'private' });
        await settled();
        return answer(request);
      };
      const worker = await environment.begin();
      await worker.receive(pageContent(), tab(1));
      await pass(60_000);
      expect(environment.server.requests.at(-1)!.procedure).toBe(procedure);
    },
  );

  it('can be reached by keyboard', async () => {
    const environment = new FakeEnvironment();
    const worker = await environment.begin();
    await worker.runCommand('toggle-highlights');
    expect(environment.area.items.get('showHighlights')).toBe(false);
    await worker.runCommand('next-finding');
    await worker.runCommand('previous-finding');
    environment.activeTab = null;
    await worker.runCommand('next-finding');
    const steps = environment.messages.flatMap(({ message }) => (message.type === 'STEP' ? [message.payload.to] : []));
    expect(steps).toEqual(['next', 'previous']);
  });
});

describe('a site where posts can be checked', () => {
  it('loses the button in the tabs that are open, and its permission', async () => {
    const environment = new FakeEnvironment();
    const allowed = 'https://bsky.app/*';
    environment.allowedSites.add(allowed);
    // The browser shows the addresses of such tabs as long as it allows the site.
    Object.defineProperty(environment, 'tabs', {
      get: () => [{ id: 7, url: environment.allowedSites.has(allowed) ? 'https://bsky.app/' : 'about:blank' }],
    });
    const worker = await environment.begin();
    await worker.receive(write('SET_CHECKS', { site: 'bsky.app', on: true }), PAGE_SENDER);
    await settled();
    expect(environment.messages.at(-1)).toMatchObject({ tabId: 7, message: { payload: { checks: true } } });
    await worker.receive(write('SET_CHECKS', { site: 'bsky.app', on: false }), PAGE_SENDER);
    await settled();
    expect([...environment.allowedSites]).toEqual([]);
    expect(environment.messages.at(-1)).toMatchObject({ tabId: 7, message: { payload: { checks: false } } });
  });

  it('is read at once where it is added, since the script runs there already', async () => {
    const environment = new FakeEnvironment();
    environment.allowedSites.add('https://bsky.app/*');
    environment.area.items.set('sitesOff', []);
    environment.tabs = [{ id: 7, url: 'https://bsky.app/profile/ada.example/post/1' }];
    const worker = await environment.begin();
    await worker.receive(write('SET_CHECKS', { site: 'bsky.app', on: true }), PAGE_SENDER);
    await worker.receive(write('ADD_SITE', { host: 'bsky.app' }), PAGE_SENDER);
    await settled();
    expect(environment.registered).toEqual(['bsky.app']);
    expect(environment.messages.at(-1)).toMatchObject({ tabId: 7, message: { payload: { active: true } } });
  });
});

describe('a publication’s own domain', () => {
  const HOST = 'letters.example';
  const URL = `https://${HOST}/p/one`;

  it('is used once the browser allows it, and as long as it does', async () => {
    const environment = new FakeEnvironment();
    const worker = await environment.begin();
    await worker.receive(write('ADD_SITE', { host: HOST }), PAGE_SENDER);
    expect(environment.registered).toEqual([]);
    environment.allowedSites.add(`https://${HOST}/*`);
    await worker.onPermissionsChanged();
    expect(environment.registered).toEqual([HOST]);
    expect(await worker.receive(write('HELLO', {}), tab(1, URL))).toMatchObject({ active: true });
    environment.allowedSites.clear();
    await worker.onPermissionsChanged();
    expect(environment.registered).toEqual([]);
  });

  it('is not used any more where the browser took its permission while it was closed', async () => {
    const environment = new FakeEnvironment();
    environment.area.items.set('sitesAdded', [HOST]);
    environment.registered.push(HOST);
    const worker = await environment.begin();
    await worker.onRestart();
    expect(environment.registered).toEqual([]);
  });

  it('is left again, and its permission given back', async () => {
    const environment = new FakeEnvironment();
    environment.allowedSites.add(`https://${HOST}/*`);
    const worker = await environment.begin();
    await worker.receive(write('ADD_SITE', { host: HOST }), PAGE_SENDER);
    expect(environment.registered).toEqual([HOST]);
    await worker.receive(write('REMOVE_SITE', { host: HOST }), PAGE_SENDER);
    expect([environment.registered, [...environment.allowedSites]]).toEqual([[], []]);
    expect(await worker.receive(write('HELLO', {}), tab(1, URL))).toMatchObject({ active: false });
  });

  it('is on once it is added, also where its site was off', async () => {
    const environment = new FakeEnvironment();
    environment.allowedSites.add(`https://${HOST}/*`);
    const worker = await environment.begin();
    await worker.receive(write('SET_SITE', { site: HOST, off: true }), PAGE_SENDER);
    await worker.receive(write('ADD_SITE', { host: HOST }), PAGE_SENDER);
    expect(await worker.receive(write('HELLO', {}), tab(1, URL))).toMatchObject({ active: true });
  });

  it('that was not added is not active', async () => {
    const environment = new FakeEnvironment();
    const worker = await environment.begin();
    expect(await worker.receive(write('HELLO', {}), tab(1, URL))).toMatchObject({ active: false });
    expect(await worker.receive(pageContent(), tab(1, URL))).toMatchObject({ ok: false, retryAfterMs: null });
  });

  it('is left at once in the pages that are open where the permission ends', async () => {
    const environment = new FakeEnvironment();
    environment.tabs = [
      { id: 7, url: 'about:blank' },
      { id: 8, url: PAGE },
    ];
    const worker = await environment.begin();
    await worker.onPermissionsChanged(true);
    expect(environment.messages).toMatchObject([
      { tabId: 7, message: { type: 'PAGE_SETTINGS', payload: { active: false, checks: false } } },
      { tabId: 8, message: { type: 'PAGE_SETTINGS', payload: { active: true } } },
    ]);
    expect(await worker.receive(pageContent(), tab(7, 'about:blank'))).toMatchObject({ ok: false, retryAfterMs: null });
    expect(environment.server.requests).toEqual([]);
  });

  it('and a server, once allowed, are tried again', async () => {
    const environment = new FakeEnvironment();
    environment.server.up = environment.server.permitted = false;
    const worker = await environment.begin();
    await worker.receive(pageContent(), tab(1));
    environment.server.up = environment.server.permitted = true;
    await worker.onPermissionsChanged();
    expect(environment.sent('RESYNC')).toEqual([1]);
  });
});
