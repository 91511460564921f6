import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';

import { drawDue, type Hint, nextHint } from '../../src/background/hints';
import type { Worker } from '../../src/background/worker';
import { requirement } from '../requirement';
import { BASE, CONTENT, FakeEnvironment, investigate, ok, pageContent, quiet, tab } from './fakes';

const HOUR_MS = 3_600_000;
const APART_MS = HOUR_MS / 4;
const NOW = Date.parse('2026-11-25T12:00:00Z');

const draws = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const waiting = fc
  .array(fc.record({ age: fc.integer({ min: 0, max: 80 * HOUR_MS }), delay: draws }), { maxLength: 30 })
  .map((ages) =>
    ages.map(({ age, delay }, number): Hint => {
      const seen = NOW - age;
      return { platform: 'WIKIPEDIA', externalId: `en:${number}`, seen, due: drawDue(seen, () => delay) };
    }),
  );
const idOf = ({ externalId }: Hint) => externalId;

describe('when hints are sent', () => {
  it('is an hour to a day after the view', () => {
    fc.assert(
      fc.property(draws, (draw) => {
        const delay = drawDue(NOW, () => draw) - NOW;
        expect(delay).toBeGreaterThanOrEqual(HOUR_MS);
        expect(delay).toBeLessThanOrEqual(24 * HOUR_MS);
      }),
    );
  });

  it('is one at a time, and what was missed is spread again or too old', () => {
    fc.assert(
      fc.property(waiting, draws, (hints, draw) => {
        const { sent, left } = nextHint(hints, NOW, () => draw);
        const stale = hints.filter(({ seen }) => NOW - seen >= 48 * HOUR_MS).map(idOf);
        const ids = [...left, ...(sent === undefined ? [] : [sent])].map(idOf);
        expect(ids.toSorted()).toEqual(
          hints
            .map(idOf)
            .filter((id) => !stale.includes(id))
            .toSorted(),
        );
        if (sent !== undefined) expect(NOW - sent.due).toSatisfy((late: number) => late >= 0 && late < APART_MS);
        for (const hint of left) {
          expect(hint.due).toBeGreaterThan(sent === undefined ? NOW : NOW + APART_MS);
          const before = hints.find(({ externalId }) => externalId === hint.externalId)!;
          if (hint.due !== before.due) expect(hint.due).toBeGreaterThanOrEqual(NOW + HOUR_MS);
        }
      }),
    );
  });

  it('sends nothing in a burst after a browser was closed for a day', () => {
    const hints = Array.from({ length: 10 }, (_, number) => ({
      platform: 'WIKIPEDIA',
      externalId: `en:${number}`,
      seen: NOW - 30 * HOUR_MS,
      due: NOW - (number + 1) * HOUR_MS,
    }));
    const { sent, left } = nextHint(hints, NOW, Math.random);
    expect(sent).toBeUndefined();
    expect(left.every(({ due }) => due >= NOW + HOUR_MS)).toBe(true);
  });
});

/** A private reader who helps or does not, on a server that knows nothing. */
class Helper extends FakeEnvironment {
  override now = NOW;

  constructor(sendHints: boolean) {
    super();
    this.area.items.set('mode', 'private');
    this.area.items.set('apiKey', 'secret');
    this.area.items.set('sendHints', sendHints);
    this.server.answers.policy = () => new Response('', { status: 404 });
    this.server.answers['layout.json'] = () => new Response('', { status: 404 });
    this.server.answers['2026-11-25'] = () => new Response('', { status: 404 });
    this.server.answers['post.hint'] = () => ok(null);
  }

  get hints(): readonly Hint[] {
    return (this.area.items.get('hints') ?? []) as readonly Hint[];
  }
}

const ARTICLE = { ...CONTENT, metadata: { language: 'en', pageId: '736', title: 'Brain', revisionId: '7' } };

async function view(
  worker: Worker,
  id: string,
  more: object = {},
  platform = 'WIKIPEDIA',
  session = '',
): Promise<void> {
  const content =
    platform === 'X'
      ? { ...CONTENT, externalId: id }
      : { ...ARTICLE, platform, externalId: `en:${id}`, metadata: { ...ARTICLE.metadata, pageId: id } };
  const reply = await worker.receive(pageContent(`s${id}${session}`, 0, content), { ...tab(1), ...more });
  expect(reply).not.toHaveProperty('errorCode');
  await quiet();
}

describe(
  requirement(
    'TR-27',
    'Hints are sent only if the reader chose so, each alone, hours later, naming a post and no reader',
  ),
  () => {
    afterEach(() => {
      vi.restoreAllMocks();
    });

    it('queues about one view in eight', async () => {
      const environment = new Helper(true);
      const worker = await environment.begin();
      const random = vi.spyOn(Math, 'random');
      random.mockReturnValue(0.125);
      await view(worker, '1');
      expect(environment.hints).toEqual([]);
      random.mockReturnValue(0.124);
      await view(worker, '2');
      expect(environment.hints).toEqual([
        { platform: 'WIKIPEDIA', externalId: 'en:2', seen: NOW, due: NOW + HOUR_MS * (1 + 23 * 0.124) },
      ]);
      expect(environment.hintWakes.at(-1)).toBeCloseTo(60 * (1 + 23 * 0.124));
      expect(environment.server.asked('post.hint')).toEqual([]);
    });

    it.each<[string, (environment: Helper) => void, object, string]>([
      ['who has not chosen to help', (environment) => environment.area.items.set('sendHints', false), {}, 'WIKIPEDIA'],
      ['with full reading', (environment) => environment.area.items.set('mode', 'full'), {}, 'WIKIPEDIA'],
      ['of a site that the server cannot ask', () => undefined, {}, 'X'],
      ['in a window that leaves no trace', () => undefined, { leavesNoTrace: true }, 'WIKIPEDIA'],
    ])('queues nothing of a reader %s', async (_, change, more, platform) => {
      const environment = new Helper(true);
      change(environment);
      const worker = await environment.begin();
      vi.spyOn(Math, 'random').mockReturnValue(0);
      await view(worker, '20', more, platform);
      await worker.sendHint();
      expect(environment.hints).toEqual([]);
      expect(environment.server.asked('post.hint')).toEqual([]);
    });

    it('counts a page once, and a post that waits already not again', async () => {
      const environment = new Helper(true);
      const worker = await environment.begin();
      const random = vi.spyOn(Math, 'random').mockReturnValue(0.9);
      await view(worker, '1');
      random.mockReturnValue(0);
      await view(worker, '1');
      expect(environment.hints).toEqual([]);
      await view(worker, '2');
      await view(worker, '3');
      await view(worker, '2');
      expect(environment.hints).toHaveLength(2);
    });

    it('sends one with a site and a number, and nothing else of the reader', async () => {
      const environment = new Helper(true);
      const worker = await environment.begin();
      const random = vi.spyOn(Math, 'random').mockReturnValue(0);
      await view(worker, '1');
      await view(worker, '2');
      environment.now += HOUR_MS;
      random.mockReturnValue(0.5);
      const fetched = vi.spyOn(environment.server, 'fetch');
      await worker.sendHint();
      await worker.sendHint();
      expect(fetched.mock.calls).toHaveLength(1);
      const [url, init] = fetched.mock.calls[0]!;
      expect(url).toBe(`${BASE}/trpc/post.hint`);
      expect(init).toMatchObject({
        method: 'POST',
        credentials: 'omit',
        referrerPolicy: 'no-referrer',
        mode: 'no-cors',
        body: '{"platform":"WIKIPEDIA","externalId":"en:1"}',
      });
      expect(Object.fromEntries(new Headers(init.headers))).toEqual({ 'accept-language': '*' });
      expect(environment.hints.map(({ due }) => due - environment.now)).toEqual([12.5 * HOUR_MS]);
    });

    it('sends nothing twice of a worker that is ended meanwhile', async () => {
      const environment = new Helper(true);
      vi.spyOn(Math, 'random').mockReturnValue(0);
      const worker = await environment.begin();
      await view(worker, '1');
      environment.now += HOUR_MS;
      environment.server.answers['post.hint'] = () => new Promise(() => undefined);
      void worker.sendHint();
      await vi.waitUntil(() => environment.server.asked('post.hint').length === 1);
      expect(environment.hints).toEqual([]);
    });

    it('sends what a worker before it queued, once, whatever is answered', async () => {
      const environment = new Helper(true);
      vi.spyOn(Math, 'random').mockReturnValue(0);
      await view(await environment.begin(), '1');
      environment.now += HOUR_MS;
      environment.server.answers['post.hint'] = () => new Response('', { status: 500 });
      const worker = await environment.begin();
      await worker.sendHint();
      await worker.sendHint();
      expect(environment.server.asked('post.hint')).toHaveLength(1);
      expect(environment.area.items.has('hints')).toBe(false);
    });

    it.each<[string, unknown]>([
      ['sendHints', false],
      ['mode', 'full'],
      ['apiBaseUrl', 'https://other.example'],
    ])('forgets them once %s is another', async (key, value) => {
      const environment = new Helper(true);
      const worker = await environment.begin();
      vi.spyOn(Math, 'random').mockReturnValue(0);
      await view(worker, '1');
      expect(environment.hints).toHaveLength(1);
      await environment.area.set({ [key]: value });
      await quiet();
      expect(environment.area.items.has('hints')).toBe(false);
    });

    it('forgets them once a permission is taken back', async () => {
      const environment = new Helper(true);
      const worker = await environment.begin();
      vi.spyOn(Math, 'random').mockReturnValue(0);
      await view(worker, '1');
      await worker.onPermissionsChanged();
      expect(environment.hints).toHaveLength(1);
      await worker.onPermissionsChanged(true);
      expect(environment.area.items.has('hints')).toBe(false);
    });

    it('sends none of a post that the reader gave to the server', async () => {
      const environment = new Helper(true);
      const worker = await environment.begin();
      const random = vi.spyOn(Math, 'random').mockReturnValue(0.9);
      await view(worker, '1');
      await investigate(worker);
      random.mockReturnValue(0);
      await view(worker, '1', {}, 'WIKIPEDIA', ' given');
      expect(environment.server.asked('post.registerObservedVersion')).toHaveLength(1);
      expect(environment.hints).toEqual([]);
      await view(worker, '1', {}, 'WIKIPEDIA', ' later');
      expect(environment.hints).toHaveLength(1);
    });
  },
);
