import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { write } from '../../src/protocol/messages';
import { PAGE, PAGE_SENDER, pageContent, settled, stopTime, tab, World } from './surroundings';

beforeEach(stopTime);
afterEach(() => void vi.useRealTimers());

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
