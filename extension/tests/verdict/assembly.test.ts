/** Answers of servers, in whatever pieces they come. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { Assembly } from '../../src/verdict/assembly';
import type { ModelProblem, Reply } from '../../src/verdict/chat_format';

const NOTHING: Reply = { content: '', reasoning: '', calls: [], finish: null, refused: false, thoughts: {} };

function events(...chunks: unknown[]): string {
  return chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('');
}

function delta(said: unknown, finish: string | null = null): unknown {
  return { choices: [{ index: 0, delta: said, finish_reason: finish }] };
}

function part(index: number, id: string, name: string, args: string): unknown {
  return { index, id, type: 'function', function: { name, arguments: args } };
}

function assemble(pieces: Iterable<Uint8Array>): Reply | ModelProblem {
  const assembly = new Assembly();
  for (const piece of pieces) if (assembly.push(piece)) break;
  return assembly.end();
}

function read(text: string): Reply | ModelProblem {
  return assemble([new TextEncoder().encode(text)]);
}

const WORDS = 'Grüße 😀, "quoted" {\n\r\u2028}';
const CALLS = [
  { id: 'a', name: 'web_search', arguments: '{"query":"Brücke"}' },
  { id: 'b', name: 'web_search', arguments: '{"query":"pont"}' },
];
const CALL = part(0, 'b', 'web_search', '{"query":"pont"}') as object;
const SAID: readonly [name: string, text: string, reply: Reply][] = [
  [
    'a stream',
    `: a comment\n\n${events(delta({ role: 'assistant', content: '' }), delta({ content: WORDS }), delta({ content: '!' }), delta({}, 'stop'))}data: [DONE]\n\n`,
    { ...NOTHING, content: `${WORDS}!`, finish: 'stop' },
  ],
  [
    'lines that end in CRLF, with names and ids of events',
    `event: x\r\nid: 1\r\ndata:${JSON.stringify(delta({ content: WORDS }, 'stop'))}\r\n\r\ndata: [DONE]\r\n\r\n`,
    { ...NOTHING, content: WORDS, finish: 'stop' },
  ],
  [
    'lines that end in CR',
    `data: ${JSON.stringify(delta({ content: 'a' }))}\r\rdata: [DONE]\r\r`,
    { ...NOTHING, content: 'a' },
  ],
  [
    'data in several lines',
    `data: {"choices": [\ndata: {"delta": {"content": "a"}}]}\n\n`,
    { ...NOTHING, content: 'a' },
  ],
  [
    'an end without a mark or an empty line',
    `data: ${JSON.stringify(delta({ content: 'a' }, 'length'))}`,
    { ...NOTHING, content: 'a', finish: 'length' },
  ],
  [
    'calls whose pieces alternate',
    events(
      delta({ tool_calls: [part(1, 'b', 'web_search', '{"que')] }),
      delta({ tool_calls: [part(0, 'a', 'web_search', '')] }),
      delta({ tool_calls: [part(1, '', '', 'ry":"pont"}'), part(0, '', '', '{"query":"Brücke"}')] }),
      delta({}, 'tool_calls'),
    ),
    { ...NOTHING, calls: CALLS, finish: 'tool_calls' },
  ],
  [
    'calls that all have the same place',
    events(
      delta({ tool_calls: [part(0, 'a', 'web_search', '{"query":"Brücke"}')] }),
      delta({ tool_calls: [part(0, 'b', 'web_search', '{"que')] }),
      delta({ tool_calls: [part(0, 'b', 'web_search', 'ry":"pont"}')] }),
      delta({}, 'tool_calls'),
    ),
    { ...NOTHING, calls: CALLS, finish: 'tool_calls' },
  ],
  [
    'calls in chunks of their own, without a place or an id',
    events(
      ...CALLS.map((call) => delta({ tool_calls: [{ function: { name: call.name, arguments: call.arguments } }] })),
    ),
    { ...NOTHING, calls: CALLS.map((call) => ({ ...call, id: '' })) },
  ],
  [
    'a call with something that is to go back with it',
    events(delta({ tool_calls: [{ ...CALL, extra_content: { google: { thought_signature: 'c2ln' } } }] })),
    { ...NOTHING, calls: [{ ...CALLS[1]!, extra: { google: { thought_signature: 'c2ln' } } }] },
  ],
  [
    'thoughts that are to go back, in pieces',
    events(
      delta({ reasoning_details: [{ type: 'reasoning.text', text: 'so ', index: 0, format: 'x' }] }),
      delta({ reasoning_details: [{ type: 'reasoning.text', text: 'be it', index: 0, signature: 'c2ln' }] }),
      delta({ reasoning_details: [{ type: 'reasoning.summary', summary: 'It ', index: 0 }] }),
      delta({ reasoning_details: [{ type: 'reasoning.summary', summary: 'is so.', index: 0 }] }),
      delta({ reasoning_details: [{ type: 'reasoning.text', text: 'or', index: 1 }] }),
      delta({ reasoning_details: [{ type: 'reasoning.encrypted', data: 'a', index: 1 }], tool_calls: [CALL] }),
      delta({ reasoning_details: [{ type: 'reasoning.encrypted', data: 'b', index: 1 }] }),
    ),
    {
      ...NOTHING,
      calls: [CALLS[1]!],
      thoughts: {
        reasoning_details: [
          { type: 'reasoning.text', text: 'so be it', index: 0, format: 'x', signature: 'c2ln' },
          { type: 'reasoning.summary', summary: 'It is so.', index: 0 },
          { type: 'reasoning.text', text: 'or', index: 1 },
          { type: 'reasoning.encrypted', data: 'a', index: 1 },
          { type: 'reasoning.encrypted', data: 'b', index: 1 },
        ],
      },
    },
  ],
  [
    'a server with a place for thoughts that has none',
    events(delta({ content: 'Yes', reasoning_content: '' })),
    { ...NOTHING, content: 'Yes', thoughts: { reasoning_content: '' } },
  ],
  [
    'a call whose name comes again with each piece',
    events(
      delta({ tool_calls: [part(0, '', 'web_search', '{"query":')] }),
      delta({ tool_calls: [part(0, '', 'web_search', '"pont"}')] }),
      delta({ tool_calls: [part(0, '', 'web_search', '')] }),
    ),
    { ...NOTHING, calls: [{ id: '', name: 'web_search', arguments: '{"query":"pont"}' }] },
  ],
  [
    'an empty list of calls',
    events(delta({ content: 'a', tool_calls: [] }, 'stop')),
    { ...NOTHING, content: 'a', finish: 'stop' },
  ],
  [
    'calls without a place or an id',
    events(delta({ tool_calls: [{ function: { name: 'web_search', arguments: { query: 'a' } } }] })),
    { ...NOTHING, calls: [{ id: '', name: 'web_search', arguments: '{"query":"a"}' }] },
  ],
  [
    'reasoning beside an empty content',
    events(delta({ reasoning_content: 'so ' }), delta({ reasoning_content: 'be it', content: null })),
    { ...NOTHING, reasoning: 'so be it', thoughts: { reasoning_content: 'so be it' } },
  ],
  [
    'one document',
    `\ufeff\n ${JSON.stringify({ choices: [{ message: { content: WORDS }, finish_reason: 'stop' }] }, null, 2)}\n`,
    { ...NOTHING, content: WORDS, finish: 'stop' },
  ],
  [
    'a document with calls and parts of a text',
    JSON.stringify({
      choices: [
        {
          message: {
            content: [{ type: 'text', text: 'a' }, { type: 'image' }, { text: 'b' }],
            tool_calls: CALLS.map(({ id, ...call }) => ({ id, function: call })),
          },
        },
      ],
    }),
    { ...NOTHING, content: 'ab', calls: CALLS },
  ],
  ['a refusal', events(delta({ refusal: 'No.' }), delta({}, 'stop')), { ...NOTHING, finish: 'stop', refused: true }],
  ['only an end', 'data: [DONE]\n\n', NOTHING],
  [
    'numbers of what was used, without choices',
    events(delta({ content: 'a' }), { choices: [], usage: {} }),
    { ...NOTHING, content: 'a' },
  ],
  [
    'what follows the end',
    `${events(delta({ content: 'a' }))}data: [DONE]\n\n${events(delta({ content: 'b' }))}`,
    { ...NOTHING, content: 'a' },
  ],
];

describe.each(SAID)('%s', (_name, text, reply) => {
  const bytes = new TextEncoder().encode(text);

  test('is read', () => expect(assemble([bytes])).toEqual(reply));

  test('is read the same, whichever byte a piece ends at', () => {
    for (let at = 0; at <= bytes.length; at++) {
      expect(assemble([bytes.subarray(0, at), bytes.subarray(at)]), `cut at ${at}`).toEqual(reply);
    }
    expect(assemble(Array.from(bytes, (byte) => Uint8Array.of(byte)))).toEqual(reply);
  });

  test('is read the same in any pieces', () => {
    const cuts = fc.array(fc.nat(bytes.length), { maxLength: 12 });
    fc.assert(
      fc.property(cuts, (given) => {
        const places = [0, ...given.sort((one, other) => one - other), bytes.length];
        expect(assemble(places.slice(1).map((end, index) => bytes.subarray(places[index], end)))).toEqual(reply);
      }),
      { numRuns: 50 },
    );
  });
});

test.each<[string, ModelProblem]>([
  ['', { kind: 'broken' }],
  ['<!doctype html><title>Welcome</title>', { kind: 'broken' }],
  ['{"choices": [', { kind: 'broken' }],
  ['{"object": "list"}', { kind: 'broken' }],
  ['data: nonsense\n\n', { kind: 'broken' }],
  [events({ error: { message: 'out of memory' } }), { kind: 'broken' }],
  [
    events(delta({ content: 'a' }), { error: { code: 429, message: 'slow down' } }),
    { kind: 'status', status: 429, retryAfterS: null },
  ],
  [JSON.stringify({ error: { code: 402, message: 'credit' } }), { kind: 'status', status: 402, retryAfterS: null }],
  [events(delta({ content: 'a' }, 'error')), { kind: 'broken' }],
])('%s is no answer', (text, problem) => expect(read(text)).toEqual(problem));

test('a reader of bytes never throws', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 40 })), (pieces) => {
      const found = assemble(pieces);
      expect('kind' in found || Array.isArray(found.calls)).toBe(true);
    }),
  );
});
