/** Checks against a server on the loopback, with what real servers of models are known to do. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { chatModel } from '../../src/verdict/chat';
import type { Ended, Out } from '../../src/verdict/check';
import { testPorts } from '../../src/verdict/connection';
import { LIMITS } from '../../src/verdict/given';
import type { Setup } from '../../src/verdict/loop';
import type { Clock, SearchEngine } from '../../src/verdict/ports';
import { runCheck } from '../../src/verdict/runner';
import { requirement } from '../requirement';
import {
  ChatServer,
  chunk,
  cut,
  document,
  refuse,
  renaming,
  searching,
  silent,
  stream,
  type Turn,
} from './chat_server';

const server = new ChatServer();
let baseUrl = '';

beforeAll(async () => {
  baseUrl = await server.start();
});
afterAll(() => server.stop());

const VERDICT = {
  ...{ verdict: 'Mixed', confidence: 50, summary: 'So and so.', caveats: 'None.', sources: [] },
  claims: [{ claim: 'It is.', assessment: 'Partly.' }],
};
const ANSWER = JSON.stringify(VERDICT);
const SETUP: Setup = {
  ...{ post: 'The bridge is long.', model: 'small', host: 'the model', maxTokens: 256, engine: 'duckduckgo' },
  ...{ isRouted: false, takesFormat: true, moment: '2026-11-22T20:15:00Z', zone: 'Europe/Vienna' },
  prompt: { text: 'Judge.', version: 'own', sha256: '' },
};
const ENGINE: SearchEngine = {
  search: async (query) => ({ ok: true, results: [{ title: query, url: 'https://a.example/', snippet: 'long' }] }),
};

/** Time that passes when the test says so. */
class Timers implements Clock {
  readonly #waiting = new Map<number, Set<() => void>>();
  readonly #begun: number[] = [];
  after(ms: number, call: () => void): () => void {
    const calls = this.#waiting.get(ms) ?? new Set();
    this.#waiting.set(ms, calls.add(call));
    this.#begun.push(ms);
    return () => calls.delete(call);
  }
  /** How many timers of so many seconds there have been. */
  begun(seconds: number): number {
    return this.#begun.filter((ms) => ms === seconds * 1_000).length;
  }
  ring(seconds: number): void {
    for (const call of [...(this.#waiting.get(seconds * 1_000) ?? [])]) call();
  }
  get waiting(): number {
    return [...this.#waiting.values()].reduce((sum, calls) => sum + calls.size, 0);
  }
}

interface Seen {
  end: Ended;
  events: Out[];
  timers: Timers;
}

async function check(
  changes: Partial<Setup> = {},
  onRequest: (timers: Timers) => void = () => undefined,
  cancel = new AbortController().signal,
  address = baseUrl,
): Promise<Seen> {
  const timers = new Timers();
  const events: Out[] = [];
  const model = chatModel(
    { baseUrl: address, key: 'sk-key' },
    (url, init) => {
      const answer = fetch(url, init);
      onRequest(timers);
      return answer;
    },
    timers,
  );
  const send = (out: Out): void => void events.push(out);
  await runCheck(
    { ...SETUP, ...changes },
    { model, engine: ENGINE, clock: timers, send, rememberNoFormat: () => undefined },
    cancel,
  );
  await until(() => timers.waiting === 0);
  return { end: events.at(-1) as Ended, events, timers };
}

function failureOf({ end }: Seen): unknown {
  return end.at === 'failed' ? end.failure : end;
}

/** Wait for what the network brings about; the test's own limit ends what never happens. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve));
}

describe('a card in spite of', () => {
  test.each<[string, Turn[]]>([
    ['an empty list of calls in every chunk', [stream({ content: ANSWER.slice(0, 9) }, { content: ANSWER.slice(9) })]],
    ['empty ids of calls', [searching('a'), searching('b'), stream({ content: ANSWER })]],
    ['an answer beside an empty content', [searching('a', 'x'), stream({ content: '', reasoning_content: ANSWER })]],
    ['a document in place of a stream', [document({ content: ANSWER, tool_calls: [] })]],
    ['thoughts', [stream({ content: `<think>Is it {"verdict": "False"}?</think>${ANSWER}` })]],
    ['thoughts without an end', [stream({ content: `<think>Is it? ${ANSWER}` })]],
    ['words around it', [stream({ content: `Here you are:\n\`\`\`json\n${ANSWER}\n\`\`\`\nAnything else?` })]],
    ['two objects', [stream({ content: `${ANSWER.replace('Mixed', 'False')}\n${ANSWER}` })]],
    ['a schema that is ignored', [stream({ content: 'Well.' }), stream({ content: `So: ${ANSWER}` })]],
    ['a format that is refused', [stream({ content: 'Well.' }), refuse(400), stream({ content: ANSWER })]],
    [
      'a model that never stops searching',
      [...Array.from({ length: 6 }, () => searching('a')), stream({ content: ANSWER })],
    ],
    ['an error that passes', [refuse(500), stream({ content: ANSWER })]],
    ['a connection that breaks at once', [cut(), stream({ content: ANSWER })]],
    ['an end of the stream without its mark', [(response) => response.end(chunk({ content: ANSWER }))]],
    [
      'a letter that comes in two pieces',
      [
        (response) => {
          const bytes = Buffer.from(
            `data: {"choices": [{"delta": {"content": ${JSON.stringify(ANSWER.replace('So and', 'Só and'))}}}]}\n\n`,
          );
          const at = bytes.indexOf('ó') + 1;
          response.write(bytes.subarray(0, at), () => setImmediate(() => response.end(bytes.subarray(at))));
        },
      ],
    ],
  ])('%s', async (_name, turns) => {
    server.script(...turns);
    const { end } = await check();
    expect(end).toMatchObject({ at: 'done', card: { verdict: 'Mixed', modelConfidence: 50 } });
    expect(server.received.length).toBe(turns.length);
    expect(server.received.length).toBeLessThanOrEqual(LIMITS.toolRequests + 1);
  });
});

describe('a clear failure with', () => {
  test.each<[string, Turn[], unknown, number]>([
    ['a refused key', [refuse(401)], { code: 'model_key_refused' }, 1],
    ['a forbidden model', [refuse(403)], { code: 'model_key_refused' }, 1],
    ['no credit', [refuse(402)], { code: 'model_quota', retryAfterS: null }, 1],
    ['too many requests', [refuse(429, { 'retry-after': '7' })], { code: 'model_quota', retryAfterS: 7 }, 1],
    [
      'a date to wait for',
      [refuse(429, { 'retry-after': 'Thu, 01 Jan 1970 00:00:00 GMT' })],
      { code: 'model_quota', retryAfterS: 0 },
      1,
    ],
    ['errors that stay', [refuse(500)], { code: 'model_error' }, 2],
    ['a model that does not exist', [refuse(404)], { code: 'model_error' }, 2],
    ['connections that break', [cut()], { code: 'model_unreachable' }, 2],
    ['a stream that is cut in the middle', [cut(chunk({ content: ANSWER.slice(0, 20) }))], { code: 'model_error' }, 1],
    [
      'an error within a stream',
      [(response) => response.end(`${chunk({ content: 'a' })}data: {"error": {"code": 502}}\n\n`)],
      { code: 'model_error' },
      1,
    ],
    [
      'a page of another server',
      [(response) => response.end('<!doctype html><title>Router</title>')],
      { code: 'model_error' },
      1,
    ],
    [
      'a redirection',
      [(response) => response.writeHead(307, { location: 'http://127.0.0.1:1/' }).end()],
      { code: 'model_error' },
      1,
    ],
    [
      'words that are no verdict, twice',
      [stream({ content: 'Well.' }), stream({ content: 'Well!' })],
      { code: 'unparseable_output', said: 'Well!' },
      2,
    ],
    ['a model that searches even without the tool', [searching('a')], { code: 'unparseable_output', said: '' }, 7],
    [
      'an answer without end',
      [(response) => response.end(chunk({ content: 'x'.repeat(LIMITS.answerBytes) }))],
      { code: 'model_error' },
      1,
    ],
  ])('%s', async (_name, turns, failure, requests) => {
    server.script(...turns);
    expect(failureOf(await check())).toMatchObject(failure as object);
    expect(server.received.length).toBe(requests);
  });

  test('no server at all', async () => {
    const closed = new ChatServer();
    const address = await closed.start();
    await closed.stop();
    expect(failureOf(await check({}, undefined, undefined, address))).toMatchObject({
      code: 'model_unreachable',
      host: 'the model',
    });
  });

  test('silence from the beginning', async () => {
    server.script(silent);
    const seen = await check(
      {},
      (timers) => void until(() => server.received.length === 1).then(() => timers.ring(LIMITS.silenceS)),
    );
    expect(failureOf(seen)).toEqual({ code: 'model_silent', host: 'the model' });
    await until(() => server.givenUp === 1);
  });

  test('silence after the first words', async () => {
    let hasBegun = false;
    server.script((response) => response.write(chunk({ content: 'a' }), () => (hasBegun = true)));
    const ring = (timers: Timers): void => void until(() => hasBegun).then(() => timers.ring(LIMITS.silenceS));
    const seen = await check({}, ring);
    expect(failureOf(seen)).toMatchObject({ code: 'model_silent' });
    await until(() => server.givenUp === 1);
  });

  test('ten minutes', async () => {
    server.script(silent);
    const seen = await check(
      {},
      (timers) => void until(() => server.received.length === 1).then(() => timers.ring(LIMITS.checkS)),
    );
    expect(failureOf(seen)).toEqual({ code: 'timed_out' });
    await until(() => server.givenUp === 1);
  });
});

test('no silence where words keep coming', async () => {
  let begun = (): number => 0;
  server.script((response) => {
    response.write(chunk({ content: ANSWER }));
    void until(() => begun() === 2).then(() => response.end('data: [DONE]\n\n'));
  });
  const seen = await check({}, (timers) => (begun = () => timers.begun(LIMITS.silenceS)));
  expect(seen.end.at).toBe('done');
});

test('a cancelled check gives up its request, and says nothing more than that', async () => {
  server.script(searching('a'), silent);
  const cancel = new AbortController();
  const running = check(
    {},
    () => void until(() => server.received.length === 2).then(() => cancel.abort()),
    cancel.signal,
  );
  expect((await running).end).toEqual({ at: 'cancelled' });
  await until(() => server.givenUp === 1);
});

test(requirement('FS-35', 'Keys go into the headers to their own host and nowhere else'), async () => {
  server.script(searching('a'), stream({ content: 'Well.' }), stream({ content: ANSWER }));
  await check({ isRouted: true });
  for (const { url, headers, body } of server.received) {
    expect(url).toBe('/v1/chat/completions');
    expect(headers.authorization).toBe('Bearer sk-key');
    expect(JSON.stringify(body)).not.toContain('sk-key');
    expect([headers.referer, headers.cookie, headers['http-referer'], headers['x-title']]).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
    expect('tools' in body && 'response_format' in body).toBe(false);
  }
  expect(server.received.at(-1)!.body).toMatchObject({ provider: { require_parameters: true } });
});

describe('a connection test', () => {
  const choice = {
    model: {
      route: 'other',
      name: 'small',
      key: '',
      maxTokens: 256,
      address: { baseUrl: '', host: 'the model', pattern: '' },
    },
    engine: { name: 'none' },
    prompt: '',
  } as const;
  const model = (): ReturnType<typeof chatModel> => chatModel({ baseUrl, key: '' }, fetch, new Timers());
  const never = new AbortController().signal;

  test('asks the model one thing, and searches once', async () => {
    server.script(stream({ content: 'OK.' }));
    expect(await testPorts(choice, model(), ENGINE, never)).toMatchObject({
      model: { ok: true, said: 'OK.' },
      search: { ok: true, results: 1 },
    });
    expect(server.received.map(({ body }) => body.messages)).toEqual([[{ role: 'user', content: 'Answer with OK.' }]]);
    expect(server.received[0]!.headers.authorization).toBeUndefined();
  });

  test('says what is wrong', async () => {
    server.script(refuse(401));
    const failing: SearchEngine = { search: async () => ({ ok: false, error: 'the search answered 401' }) };
    expect(await testPorts(choice, model(), failing, never)).toEqual({
      model: { ok: false, failure: { code: 'model_key_refused', host: 'the model' } },
      search: { ok: false, error: 'the search answered 401' },
    });
    expect(await testPorts(choice, model(), null, never)).toMatchObject({ search: null });
  });
});

describe('a server that takes the limit under its newer name', () => {
  test('is asked again once, and only under that name from then on', async () => {
    server.script(renaming(searching('a')), renaming(searching('a')), renaming(stream({ content: ANSWER })));
    expect((await check()).end.at).toBe('done');
    const limits = server.received.map(({ body }) => [body.max_tokens, body.max_completion_tokens]);
    expect(limits).toEqual([
      [256, undefined],
      [undefined, 256],
      [undefined, 256],
    ]);
  });

  test('which refuses that too is asked no third time for the same', async () => {
    const message = 'max_completion_tokens is too large';
    server.script((response) => response.writeHead(400).end(message));
    expect(failureOf(await check())).toMatchObject({ code: 'model_error' });
    expect(server.received.length).toBe(3);
  });
});

test.each([
  ['https://api.anthropic.com/v1', 'true'],
  ['https://api.anthropic.com.example/v1', null],
])('only Anthropic, which refuses browsers otherwise, learns that one asks: %s', async (address, expected) => {
  const asked: RequestInit[] = [];
  const record = async (_: string, init: RequestInit): Promise<Response> => (asked.push(init), Response.error());
  const body = { model: 'small', messages: [], stream: true, max_tokens: 256 } as const;
  const server = { baseUrl: address, key: 'sk-key' };
  await chatModel(server, record, new Timers()).ask(body, new AbortController().signal);
  expect(new Headers(asked[0]!.headers).get('anthropic-dangerous-direct-browser-access')).toBe(expected);
});

test('a request takes nothing along that the browser keeps of its server', async () => {
  const asked: RequestInit[] = [];
  const record = async (_: string, init: RequestInit): Promise<Response> => (asked.push(init), Response.error());
  const body = { model: 'small', messages: [], stream: true, max_tokens: 256 } as const;
  await chatModel({ baseUrl, key: 'sk-key' }, record, new Timers()).ask(body, new AbortController().signal);
  expect(asked).toMatchObject([
    { credentials: 'omit', cache: 'no-store', redirect: 'manual', referrerPolicy: 'no-referrer' },
  ]);
});
