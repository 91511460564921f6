/** Whole checks: the requests they make, what the reader sees, and how they end. */
import { readFileSync } from 'node:fs';

import fc from 'fast-check';
import { expect, test } from 'vitest';

import type { ChatBody, ChatMessage, ModelProblem, Reply } from '../../src/verdict/chat_format';
import type { EngineName, Ended, Out } from '../../src/verdict/check';
import type { Setup } from '../../src/verdict/loop';
import { runCheck } from '../../src/verdict/runner';
import type { Hit } from '../../src/verdict/sources';
import { requirement } from '../requirement';
import { cases } from './cases';

/** What differs from `USUAL`. */
type Settings = Partial<Omit<Setup, 'post' | 'prompt'>> & { prompt?: string };

interface Case {
  name: string;
  settings: Settings;
  post: string;
  replies: (Partial<Reply> & { problem?: ModelProblem })[];
  /** Results by query, or the error. */
  searches: Record<string, Hit[] | string>;
  /** The messages since the request before, and what goes with them. */
  requests: { adds: ChatMessage[]; asks: keyof typeof ASKS }[];
  events: Out[];
  end: Ended;
  remembered: boolean;
}

const USUAL = {
  ...{ prompt: 'Judge.', model: 'small', host: 'localhost:1234', maxTokens: 512, engine: 'duckduckgo' as EngineName },
  ...{ isRouted: false, takesFormat: true, moment: '2026-11-22T20:15:00Z', zone: 'Europe/Vienna' },
};

const SCHEMA: unknown = JSON.parse(
  readFileSync(new URL('../../../contracts/verdict/answer.schema.json', import.meta.url), 'utf8'),
);
const FORMAT = { type: 'json_schema', json_schema: { name: 'verdict', strict: true, schema: SCHEMA } };
const QUERY = {
  type: 'object',
  properties: { query: { type: 'string' } },
  required: ['query'],
  additionalProperties: false,
};
const DESCRIPTION = 'Search the web. The answer holds titles, addresses and snippets of pages.';
const ASKS = {
  tool: {
    tools: [{ type: 'function', function: { name: 'web_search', description: DESCRIPTION, parameters: QUERY } }],
  },
  format: { response_format: FORMAT },
  routedFormat: { response_format: FORMAT, provider: { require_parameters: true } },
  nothing: {},
};

/** The requests as they are sent, whole. */
function bodies({ settings, requests }: Pick<Case, 'settings' | 'requests'>): unknown[] {
  const { model, maxTokens } = { ...USUAL, ...settings };
  const messages: ChatMessage[] = [];
  return requests.map(({ adds, asks }) => {
    messages.push(...adds);
    return { model, messages: [...messages], stream: true, max_tokens: maxTokens, ...ASKS[asks] };
  });
}

type Given = Pick<Case, 'settings' | 'post' | 'replies' | 'searches'>;
type Seen = Pick<Case, 'events' | 'end' | 'remembered'> & { requests: ChatBody[] };

async function check({ settings, post, replies, searches }: Given, isWhole = true): Promise<Seen> {
  const requests: ChatBody[] = [];
  const events: Out[] = [];
  const waiting = [...replies];
  let remembered = false;
  const { prompt: text, ...rest } = { ...USUAL, ...settings };
  await runCheck(
    { ...rest, post, prompt: { text, version: 'own', sha256: 'f00' } },
    {
      model: {
        async ask(body) {
          requests.push(structuredClone(body));
          const { problem, ...reply } = waiting.shift()!;
          if (problem !== undefined) return { ok: false, problem };
          return {
            ok: true,
            reply: { content: '', reasoning: '', calls: [], thoughts: {}, finish: null, refused: false, ...reply },
          };
        },
      },
      engine: {
        async search(query) {
          const found = searches[query] ?? `no results prepared for ${query}`;
          return typeof found === 'string' ? { ok: false, error: found } : { ok: true, results: found };
        },
      },
      clock: { after: () => () => undefined },
      send: (out) => events.push(structuredClone(out)),
      rememberNoFormat: () => (remembered = true),
    },
    new AbortController().signal,
  );
  if (isWhole) expect(waiting).toEqual([]);
  return { requests, events: events.slice(0, -1), end: events.at(-1) as Ended, remembered };
}

const ALL = cases<Case>('loop');

test.each(ALL)('$name', async ({ requests, events, end, remembered, ...given }) => {
  expect(await check(given)).toEqual({ requests: bodies({ ...given, requests }), events, end, remembered });
});

/** Cases by what their names begin with: a row that rests on them fails with them. */
function named(start: string): Case {
  return ALL.find(({ name }) => name.startsWith(start))!;
}

function toolMessages({ requests }: Case): { id: string; content: Record<string, unknown> }[] {
  return requests.flatMap(({ adds }) =>
    adds.flatMap((message) =>
      message.role === 'tool'
        ? [{ id: message.tool_call_id, content: JSON.parse(message.content) as Record<string, unknown> }]
        : [],
    ),
  );
}

function callIds({ requests }: Case): string[] {
  return requests.flatMap(({ adds }) =>
    adds.flatMap((message) => (message.role === 'assistant' ? (message.tool_calls ?? []).map(({ id }) => id) : [])),
  );
}

test(requirement('FS-8', 'One tool, web_search; each result returns with title, address and snippet'), async () => {
  const { requests } = await check(named('a search, then the verdict'));
  expect(requests[0]).toMatchObject(ASKS.tool);
  const [found] = toolMessages(named('a search, then the verdict'));
  expect(found!.content).toEqual({
    ok: true,
    query: 'bridge length',
    results: named('a search, then the verdict').searches['bridge length'],
  });
});

test(requirement('FS-9', 'At most six requests have the tool; content without calls ends the loop'), () => {
  for (const { name, requests, replies } of ALL) {
    const answered = requests.filter((_, index) => replies[index]!.problem === undefined);
    expect(answered.filter(({ asks }) => asks === 'tool').length, name).toBeLessThanOrEqual(6);
  }
  expect(named('an opinion needs').requests).toHaveLength(1);
});

test(
  requirement('FS-10', 'After the sixth comes one request without tools and with a schema: at most seven are answered'),
  () => {
    for (const start of ['a model that never stops', 'calls after the end']) {
      expect(named(start).requests.map(({ asks }) => asks)).toEqual([...Array<string>(6).fill('tool'), 'format']);
    }
    for (const { replies } of ALL) {
      expect(replies.filter(({ problem }) => problem === undefined).length).toBeLessThanOrEqual(7);
    }
  },
);

test(requirement('FS-11', 'Every call is answered, in order; beyond 8 a turn and 24 in all as failed'), () => {
  for (const one of ALL)
    expect(
      toolMessages(one).map(({ id }) => id),
      one.name,
    ).toEqual(callIds(one));
  const answers = (start: string): unknown[] => toolMessages(named(start)).map(({ content }) => content.ok);
  expect(answers('the ninth search')).toEqual([...Array<boolean>(8).fill(true), false]);
  expect(answers('the twenty-fifth search')).toEqual([...Array<boolean>(24).fill(true), false]);
  expect(answers('an unknown tool')).toEqual(Array<boolean>(5).fill(false));
});

test(
  requirement('FS-12', 'A format never goes with tools, is only a schema, and is left out where it is refused'),
  async () => {
    for (const one of ALL) {
      for (const body of (await check(one)).requests) expect('tools' in body && 'response_format' in body).toBe(false);
    }
    const { requests, remembered } = await check(named('a server that refuses'));
    expect(requests.map((body) => 'response_format' in body)).toEqual([false, true, false]);
    expect(remembered).toBe(true);
  },
);

test(
  requirement('FS-26', "What cannot be read is asked for once more, then shown as it is in the reader's own tab"),
  () => {
    expect(named('an answer that cannot be read is').requests.map(({ asks }) => asks)).toEqual(['tool', 'format']);
    expect(named('an answer that cannot be read twice').end).toMatchObject({
      failure: { code: 'unparseable_output', said: 'It is true!' },
    });
  },
);

test(requirement('FS-30', 'Each query and its results are sent to the page as they come, in order'), () => {
  for (const { name, events } of ALL) {
    const searching = events.flatMap((event) =>
      event.at === 'searching' ? [event.query] : event.at === 'found' ? [event.search.query] : [],
    );
    searching.forEach((query, index) => expect(query, name).toBe(searching[index - (index % 2)]));
  }
  expect(
    named('several searches')
      .events.map(({ at }) => at)
      .join(),
  ).toBe('asking,searching,found,searching,found,searching,found,asking');
});

test(requirement('FS-36', 'Equal replies give equal requests, card and caps'), async () => {
  for (const one of ALL) expect(await check(one), one.name).toEqual(await check(one));
});

test(
  requirement('FS-37', 'Posts and pages are data: what they say changes no prompt, tool, cap or source'),
  async () => {
    const one = named('instructions in posts');
    const { requests, end } = await check(one);
    for (const body of requests) expect(body).toMatchObject({ model: USUAL.model, ...ASKS.tool });
    expect(requests[0]!.messages[0]).toMatchObject({
      role: 'system',
      content: expect.stringMatching(/^Judge\./) as string,
    });
    expect(end).toMatchObject({ card: { sources: [], dropped: 1, engine: 'duckduckgo' } });
  },
);

test('every check ends within the limits, whatever the model does', async () => {
  const call = fc.record({
    id: fc.constantFrom('', 'a', 'b', 'call_1'),
    name: fc.constantFrom('web_search', 'web_search', 'open_page', ''),
    arguments: fc.constantFrom('{"query": "a"}', '{"query": ""}', '{}', '[', 'null', '"a"', ''),
  });
  const content = fc.constantFrom(
    '',
    'Well.',
    ...ALL.flatMap(({ replies }) => replies.map((reply) => reply.content ?? '')),
  );
  const reply = fc.record({ content, calls: fc.array(call, { maxLength: 40 }) });
  const problem = fc.constantFrom<ModelProblem>(
    { kind: 'lost', begun: false },
    { kind: 'lost', begun: true },
    { kind: 'status', status: 400, retryAfterS: null },
    { kind: 'status', status: 500, retryAfterS: null },
  );
  const turn = fc.oneof(
    { weight: 5, arbitrary: reply },
    { weight: 1, arbitrary: problem.map((kind) => ({ problem: kind })) },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(turn, { minLength: 14, maxLength: 14 }), fc.boolean(), async (replies, searches) => {
      const engine = searches ? 'duckduckgo' : 'none';
      const { requests, events, end } = await check(
        { settings: { engine }, post: 'a', replies, searches: { a: [] } },
        false,
      );
      const answered = requests.filter((_, index) => !('problem' in replies[index]!));
      expect(answered.length).toBeLessThanOrEqual(7);
      expect(events.filter(({ at }) => at === 'searching').length).toBeLessThanOrEqual(searches ? 24 : 0);
      expect(['done', 'failed']).toContain(end.at);
      const messages = requests.at(-1)!.messages;
      const ids = messages
        .flatMap((message) => (message.role === 'assistant' ? (message.tool_calls ?? []) : []))
        .map(({ id }) => id);
      expect(messages.flatMap((message) => (message.role === 'tool' ? [message.tool_call_id] : []))).toEqual(ids);
      expect(new Set(ids).size).toBe(ids.length);
    }),
    { numRuns: 300 },
  );
});
