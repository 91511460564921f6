/** Which checks are started, joined, refused and ended; what runs them is a fake, and sends what the test says. */
import { createHash } from 'node:crypto';

import { beforeEach, describe, expect, it, vi } from 'vitest';

import { type ChecksDependencies, Checks, type CheckPort } from '../../src/background/checks';
import type { CheckMessage } from '../../src/protocol/check';
import { DEFAULTS, type Settings } from '../../src/settings/settings';
import { LIMITS, PROMPT, PROMPT_SHA256 } from '../../src/verdict/given';
import type { FromJob, Job } from '../../src/verdict/job';
import { requirement } from '../requirement';
import { FakeArea } from './fakes';

const POST = 'https://bsky.app/profile/did:plc:a/post/1';
const SETTINGS: Partial<Settings> = {
  verdictSites: ['bsky.app', 'threads.com'],
  verdictRoute: 'lmstudio',
  verdictModel: 'small',
  searchProvider: 'duckduckgo',
  verdictConsent: '1 localhost:1234 html.duckduckgo.com',
};

class Port implements CheckPort {
  readonly got: CheckMessage[] = [];
  isOpen = true;
  postMessage(message: CheckMessage): void {
    this.got.push(message);
  }
  disconnect(): void {
    this.isOpen = false;
  }
}

interface Started {
  readonly job: Job;
  readonly send: (message: FromJob) => void;
  readonly lose: () => void;
  isCancelled: boolean;
}

let area: FakeArea;
let session: FakeArea;
let started: Started[];
let refused: string[];
let tick: (() => void) | null;
let checks: Checks;

beforeEach(async () => {
  [area, session, started, refused, tick] = [new FakeArea(), new FakeArea(), [], [], null];
  await area.set({ ...SETTINGS });
  const dependencies: ChecksDependencies = {
    ...{ area, session, now: () => Date.parse('2026-11-22T20:15:00Z') },
    hasPermission: async (pattern) => !refused.includes(pattern),
    stayAwake(_ms, call) {
      tick = call;
      return () => (tick = null);
    },
    startJob(job, send, lose) {
      const one: Started = { job, send, lose, isCancelled: false };
      started.push(one);
      return () => (one.isCancelled = true);
    },
  };
  checks = new Checks(dependencies);
});

async function start(tabId = 1, permalink = POST, words = 'The moon is made of cheese.', url = POST): Promise<Port> {
  const port = new Port();
  await checks.receive({ type: 'START', words, permalink }, port, tabId, url);
  return port;
}

function failure(port: Port): unknown {
  const last = port.got.at(-1);
  return last?.at === 'failed' ? { ...last.failure, isOpen: port.isOpen } : last;
}

describe('a check', () => {
  it('has all that it needs, and nothing of the page but the words', async () => {
    await start();
    expect(started.map(({ job }) => job)).toEqual([
      {
        setup: {
          ...{ post: 'The moon is made of cheese.', model: 'small', host: 'localhost:1234', maxTokens: 4096 },
          ...{ engine: 'duckduckgo', isRouted: false, takesFormat: true, moment: '2026-11-22T20:15:00.000Z' },
          zone: Intl.DateTimeFormat().resolvedOptions().timeZone,
          prompt: { text: PROMPT, version: LIMITS.promptVersion, sha256: PROMPT_SHA256 },
        },
        server: { baseUrl: 'http://localhost:1234/v1', key: '' },
        searchKey: '',
      },
    ]);
  });

  it('sends everything on, and closes the port after the last', async () => {
    const port = await start();
    started[0]!.send({ at: 'asking', request: 1, last: false });
    started[0]!.send({ at: 'cancelled' });
    expect(port).toMatchObject({
      got: [{ at: 'asking', request: 1, last: false }, { at: 'cancelled' }],
      isOpen: false,
    });
    started[0]!.send({ at: 'asking', request: 2, last: false });
    expect(port.got).toHaveLength(2);
  });

  it.each<[Partial<Settings>, Job['server']]>([
    [{}, { baseUrl: 'http://localhost:1234/v1', key: '' }],
    [
      { verdictRoute: 'openrouter', verdictKey: 'sk' },
      { baseUrl: 'https://openrouter.ai/api/v1', key: 'sk' },
    ],
    [
      // An address that was entered for another route gets no key of this one.
      { verdictRoute: 'openrouter', verdictKey: 'sk', verdictBaseUrl: 'https://models.example/v1' },
      { baseUrl: 'https://openrouter.ai/api/v1', key: 'sk' },
    ],
    [
      { verdictRoute: 'other', verdictBaseUrl: 'http://127.0.0.1:8080/v1/', verdictKey: 'sk' },
      { baseUrl: 'http://127.0.0.1:8080/v1', key: 'sk' },
    ],
  ])(
    requirement('FS-3', 'LM Studio, OpenRouter or any server of chat completions, by one adapter'),
    async (changes, server) => {
      const host = new URL(server.baseUrl).host;
      await area.set({ ...changes, verdictConsent: `1 ${host} html.duckduckgo.com` });
      await start();
      expect(started[0]!.job.server).toEqual(server);
    },
  );

  it(requirement('FS-33', 'A card names prompt, model and search'), async () => {
    await start();
    const { prompt, model, engine } = started[0]!.job.setup;
    expect([prompt.version, prompt.sha256, model, engine]).toEqual([
      LIMITS.promptVersion,
      PROMPT_SHA256,
      'small',
      'duckduckgo',
    ]);
  });

  it('uses the reader’s own prompt, named by its hash', async () => {
    await area.set({ verdictPrompt: 'Judge.' });
    await start();
    const sha256 = createHash('sha256').update('Judge.').digest('hex');
    expect(started[0]!.job.setup.prompt).toEqual({ text: 'Judge.', version: 'own', sha256 });
  });

  it('keeps the port alive while it runs', async () => {
    const port = await start();
    tick!();
    expect(port.got).toEqual([{ at: 'alive' }]);
    started[0]!.send({ at: 'cancelled' });
    expect(tick).toBeNull();
  });

  it('ends as interrupted if what runs it is lost', async () => {
    const port = await start();
    started[0]!.lose();
    expect(failure(port)).toEqual({ code: 'interrupted', isOpen: false });
  });

  it('remembers a server that refuses a format, by address and model, until the browser closes', async () => {
    await start();
    started[0]!.send({ at: 'no_format' });
    started[0]!.send({ at: 'cancelled' });
    await start();
    await area.set({ verdictModel: 'large' });
    await start(2);
    expect(started.map(({ job }) => job.setup.takesFormat)).toEqual([true, false, true]);
    expect([...session.items.keys()]).toHaveLength(1);
  });

  it(requirement('FS-46', 'Storage holds settings only'), async () => {
    const before = await area.get(null);
    const port = await start();
    started[0]!.send({ at: 'failed', failure: { code: 'unparseable_output', said: 'cheese' } });
    expect(failure(port)).toMatchObject({ said: 'cheese' });
    expect(await area.get(null)).toEqual(before);
    expect(session.items.size).toBe(0);
  });
});

describe(requirement('FS-41', 'Nothing is sent before the reader has agreed to these hosts and this text'), () => {
  it.each<[string, Partial<Settings>, string]>([
    ['without a model', { verdictModel: '' }, 'not_configured'],
    ['without a route', { verdictRoute: '', verdictBaseUrl: 'http://localhost:8080/v1' }, 'not_configured'],
    ['to OpenRouter without a key', { verdictRoute: 'openrouter' }, 'not_configured'],
    ['to Brave without a key', { searchProvider: 'brave' }, 'not_configured'],
    [
      'to a public host without encryption',
      { verdictRoute: 'other', verdictBaseUrl: 'http://a.example/v1' },
      'not_configured',
    ],
    ['where the site is switched off', { verdictSites: ['threads.com'] }, 'not_configured'],
    ['without consent', { verdictConsent: '' }, 'no_consent'],
    ['with consent to an earlier text', { verdictConsent: '0 localhost:1234 html.duckduckgo.com' }, 'no_consent'],
    ['with consent to another search', { searchProvider: 'tavily', searchKey: 'k' }, 'no_consent'],
    ['with consent to another model', { verdictRoute: 'openrouter', verdictKey: 'k' }, 'no_consent'],
  ])('%s', async (_name, changes, code) => {
    await area.set({ ...changes });
    expect(failure(await start())).toEqual({ code, isOpen: false });
    expect(started).toEqual([]);
  });

  it.each([
    ['http://localhost/*', 'localhost:1234'],
    ['https://html.duckduckgo.com/*', 'html.duckduckgo.com'],
  ])('without the permission for %s', async (pattern, host) => {
    refused = [pattern];
    expect(failure(await start())).toEqual({ code: 'no_permission', host, isOpen: false });
    expect(started).toEqual([]);
  });

  it.each([' \n', 'x'.repeat(LIMITS.postCharacters + 1)])(
    requirement('FS-45', 'A post without a permalink, or with cut words, is not sent'),
    async (words) => {
      expect(failure(await start(1, POST, words))).toEqual({ code: 'unreadable_post', isOpen: false });
      expect(started).toEqual([]);
    },
  );

  it.each([
    { type: 'START', words: 'a' },
    { type: 'START', words: '', permalink: POST },
    { type: 'START', words: 'a', permalink: 'javascript:1' },
    { type: 'START', words: 'a', permalink: POST, baseUrl: 'https://evil.example' },
    { type: 'STOP' },
    null,
  ])('by %j', async (message) => {
    await expect(checks.receive(message, new Port(), 1, POST)).rejects.toThrow();
    expect(started).toEqual([]);
  });

  it.each([
    ['https://www.threads.net/@a/post/1', 1],
    ['https://www.threads.com/@a/post/1', 1],
    ['https://threads.example/', 0],
  ])('but where the site is on: %s', async (url, count) => {
    await start(1, POST, 'words', url);
    expect(started).toHaveLength(count);
  });
});

describe(requirement('FS-44', 'A page that leaves cancels its check; one check a tab, three in all'), () => {
  it('a second for the same post joins and gets all that was sent', async () => {
    const first = await start();
    started[0]!.send({ at: 'asking', request: 1, last: false });
    const second = await start();
    started[0]!.send({ at: 'searching', query: 'moon' });
    expect(started).toHaveLength(1);
    expect(second.got).toEqual(first.got);
    checks.onDisconnect(first);
    expect(started[0]!.isCancelled).toBe(false);
    checks.onDisconnect(second);
    expect(started[0]!.isCancelled).toBe(true);
  });

  it('one for other words of the post takes the place of the first', async () => {
    await start();
    await start(1, POST, 'The moon is made of rock.');
    expect(started.map(({ job, isCancelled }) => [job.setup.post, isCancelled])).toEqual([
      ['The moon is made of cheese.', true],
      ['The moon is made of rock.', false],
    ]);
  });

  it('one for another post of the tab takes the place of the first', async () => {
    const first = await start();
    await start(1, `${POST}2`);
    expect(first).toMatchObject({ got: [{ at: 'cancelled' }], isOpen: false });
    expect(started.map(({ isCancelled }) => isCancelled)).toEqual([true, false]);
  });

  it('three run, a fourth is refused until one has ended', async () => {
    for (const tab of [1, 2, 3]) await start(tab);
    expect(failure(await start(4))).toEqual({ code: 'too_many_checks', isOpen: false });
    started[1]!.send({ at: 'cancelled' });
    await start(4);
    expect(started).toHaveLength(4);
  });

  it('one that cannot be prepared ends, and is none of the three', async () => {
    vi.spyOn(area, 'get').mockRejectedValue(new Error('no storage'));
    const port = new Port();
    const message = { type: 'START', words: 'a', permalink: POST };
    await expect(checks.receive(message, port, 1, POST)).rejects.toThrow('no storage');
    expect(failure(port)).toEqual({ code: 'interrupted', isOpen: false });
    expect(tick).toBeNull();
  });

  it('a page that leaves before its check has begun starts none', async () => {
    const port = new Port();
    const receiving = checks.receive({ type: 'START', words: 'a', permalink: POST }, port, 1, POST);
    checks.onDisconnect(port);
    await receiving;
    expect(started).toEqual([]);
    expect(tick).toBeNull();
  });
});

it('the settings begin without a model, a search, a site and consent', () => {
  expect(DEFAULTS).toMatchObject({ verdictSites: [], verdictRoute: '', searchProvider: 'none', verdictConsent: '' });
});
