/**
 * One answer of a chat completion, put together from whatever pieces the network delivers.
 *
 * Servers send events, or one JSON document although events were asked for; which it is shows in the first character,
 * because not every server names it rightly.
 */
import type { GivenCall, ModelProblem, Reply } from './chat_format';

type Fields = Readonly<Record<string, unknown>>;

/** Statuses that matter to the reader even where they come within an answer. */
const TELLING: readonly unknown[] = [401, 402, 403, 429];
const LINE_END = /\r\n|\n|\r(?!$)/;

export class Assembly {
  readonly #decoder = new TextDecoder();
  readonly #calls = new Map<number, { id: string; name: string; arguments: string }>();
  #isDocument: boolean | null = null;
  /** The incomplete rest: a document, or a line. */
  #rest = '';
  #data: string[] = [];
  #content = '';
  #reasoning = '';
  #finish: string | null = null;
  #refused = false;
  #problem: ModelProblem | null = null;
  #isDone = false;
  #isReply = false;

  /** Take the next bytes; true once nothing more is needed. */
  push(bytes: Uint8Array): boolean {
    this.#take(this.#decoder.decode(bytes, { stream: true }));
    return this.#isDone || this.#problem !== null;
  }

  /** The answer, after the last bytes. */
  end(): Reply | ModelProblem {
    if (!this.#isDone) {
      this.#take(this.#decoder.decode());
      if (this.#isDocument === true) this.#readChunk(this.#rest);
      else this.#readLines([this.#rest.replace(/\r$/, ''), '']);
    }
    if (this.#problem !== null) return this.#problem;
    if (!this.#isReply) return { kind: 'broken' };
    const calls: GivenCall[] = [...this.#calls].sort(([one], [other]) => one - other).map(([, call]) => call);
    const reply = { content: this.#content, reasoning: this.#reasoning, finish: this.#finish, refused: this.#refused };
    return { ...reply, calls };
  }

  #take(text: string): void {
    this.#rest += text;
    if (this.#isDocument === null) {
      this.#rest = this.#rest.trimStart();
      if (this.#rest === '') return;
      this.#isDocument = this.#rest.startsWith('{');
    }
    if (this.#isDocument) return;
    const lines = this.#rest.split(LINE_END);
    this.#rest = lines.pop()!;
    this.#readLines(lines);
  }

  #readLines(lines: readonly string[]): void {
    for (const line of lines) {
      if (line.startsWith('data:')) this.#data.push(line.slice(5).replace(/^ /, ''));
      else if (line === '' && this.#data.length > 0) {
        const data = this.#data.join('\n');
        this.#data = [];
        if (data.trim() === '[DONE]') this.#isDone = this.#isReply = true;
        else this.#readChunk(data);
      }
      if (this.#isDone || this.#problem !== null) return;
    }
  }

  #readChunk(data: string): void {
    const chunk = asFields(parse(data));
    if (chunk.error !== undefined && chunk.error !== null) {
      this.#problem = problemOf(asFields(chunk.error).code);
      return;
    }
    if (!Array.isArray(chunk.choices)) return;
    this.#isReply = true;
    const choice = asFields((chunk.choices as unknown[])[0]);
    if (typeof choice.finish_reason === 'string') this.#finish = choice.finish_reason;
    if (choice.finish_reason === 'error') this.#problem = { kind: 'broken' };
    const said = asFields(choice.delta ?? choice.message);
    this.#content += textOf(said.content);
    this.#reasoning += textOf(said.reasoning_content ?? said.reasoning);
    if (textOf(said.refusal) !== '') this.#refused = true;
    if (Array.isArray(said.tool_calls)) (said.tool_calls as unknown[]).forEach((call, at) => this.#join(call, at));
  }

  #join(given: unknown, at: number): void {
    const call = asFields(given);
    const { name, arguments: more } = asFields(call.function);
    const index = typeof call.index === 'number' ? call.index : at;
    const known = this.#calls.get(index) ?? { id: '', name: '', arguments: '' };
    known.id ||= textOf(call.id);
    known.name ||= textOf(name);
    known.arguments += typeof more === 'object' && more !== null ? JSON.stringify(more) : textOf(more);
    this.#calls.set(index, known);
  }
}

function problemOf(code: unknown): ModelProblem {
  return TELLING.includes(code) ? { kind: 'status', status: code as number, retryAfterS: null } : { kind: 'broken' };
}

/** A text, or the texts among parts. */
function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.map((part) => textOf(asFields(part).text)).join('');
  return typeof value === 'string' ? value : '';
}

function asFields(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
}

function parse(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    return null;
  }
}
