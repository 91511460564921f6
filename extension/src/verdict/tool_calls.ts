/** The model's calls of the search tool: which are searched for, and what each is answered with. */
import type { ChatMessage, GivenCall } from './chat_format';
import type { EngineName } from './check';
import { LIMITS } from './given';
import type { Hit } from './sources';
import { collapse, cut, wellFormed } from './text';

/** A call with an id of its own. */
export interface KeptCall {
  readonly id: string;
  readonly name: string;
  /** Null where the arguments hold none. */
  readonly query: string | null;
  /** The arguments as they go back to the server, which may parse them. */
  readonly sent: string;
  readonly extra?: unknown;
}

export type Plan = { readonly ok: true; readonly query: string } | { readonly ok: false; readonly error: string };

export type Answered =
  | { readonly ok: true; readonly query: string; readonly results: readonly Hit[] }
  | { readonly ok: false; readonly error: string };

/**
 * Give ids where they are empty or repeated, and read the queries. A turn with more calls than a whole check may make is cut
 * to these: a model that runs wild would fill the conversation with refusals.
 */
export function keepCalls(given: readonly GivenCall[], before: readonly ChatMessage[]): KeptCall[] {
  const taken = new Set(before.flatMap((message) => (message.role === 'tool' ? [message.tool_call_id] : [])));
  return given.slice(0, LIMITS.searchesInAll).map((call) => {
    let id = call.id;
    for (let number = taken.size + 1; id === '' || taken.has(id); number++) id = `call_${number}`;
    taken.add(id);
    const read = parseObject(call.arguments);
    const query = typeof read?.query === 'string' ? cut(collapse(wellFormed(read.query)), LIMITS.queryCharacters) : '';
    const sent = read === null ? '{}' : call.arguments;
    return { id, name: call.name, query: query || null, sent, extra: call.extra };
  });
}

/** Whether a call is searched for. `place` is its position in its turn, `before` the number of calls so far. */
export function planCall({ name, query }: KeptCall, place: number, before: number, engine: EngineName): Plan {
  if (name !== 'web_search' || engine === 'none') return { ok: false, error: 'there is no such tool' };
  if (place >= LIMITS.searchesPerTurn) return { ok: false, error: 'too many searches in one turn' };
  if (before >= LIMITS.searchesInAll) return { ok: false, error: 'no more searches are possible' };
  return query === null ? { ok: false, error: 'the arguments hold no query' } : { ok: true, query };
}

/** The content of a tool message. */
export function answerCall(answered: Answered): string {
  if (!answered.ok) return JSON.stringify({ ok: false, error: cut(answered.error, LIMITS.errorCharacters) });
  const results = answered.results.map(({ title, url, snippet, date }) => ({ title, url, snippet, date }));
  return JSON.stringify({ ok: true, query: answered.query, results });
}

function parseObject(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : null;
  } catch {
    return null;
  }
}
