/** A connection test: one short question to the model and, where a search is chosen, one search. */
import type { Choice } from '../settings/checks';
import type { ConnectionReport } from './check';
import { engineOf, modelAt } from './document_ports';
import type { Model, SearchEngine } from './ports';
import { failureOf } from './problems';

const QUESTION = 'Answer with OK.';
const QUERY = 'tallest building in the world';

/** Test what a reader has chosen. Needs the browser's permission for both hosts. */
export async function testConnection(choice: Choice, signal: AbortSignal): Promise<ConnectionReport> {
  const { model, engine } = choice;
  const key = engine.name === 'none' ? '' : engine.key;
  const server = modelAt({ baseUrl: model.address.baseUrl, key: model.key });
  return testPorts(choice, server, engine.name === 'none' ? null : engineOf(engine.name, key), signal);
}

export async function testPorts(
  { model }: Choice,
  server: Model,
  engine: SearchEngine | null,
  signal: AbortSignal,
): Promise<ConnectionReport> {
  const asked = performance.now();
  const answer = await server.ask(
    {
      model: model.name,
      messages: [{ role: 'user', content: QUESTION }],
      stream: true,
      max_tokens: model.maxTokens,
    },
    signal,
  );
  const answered = performance.now();
  const searched = (await engine?.search(QUERY, signal)) ?? null;
  const found = performance.now();
  return {
    model: answer.ok
      ? { ok: true, said: answer.reply.content || answer.reply.reasoning, ms: Math.round(answered - asked) }
      : { ok: false, failure: failureOf(answer.problem, model.address.host) },
    search:
      searched?.ok === true
        ? { ok: true, results: searched.results.length, ms: Math.round(found - answered) }
        : searched,
  };
}
