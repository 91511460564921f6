/**
 * One answer of a chat completion, put together from whatever pieces the network delivers.
 *
 * Servers send events, or one JSON document although events were asked for; which it is shows in the first character,
 * because not every server names it rightly.
 */
import type { GivenCall, ModelProblem, Reply } from './chat_format';

type Fields = Readonly<Record<string, unknown>>;
type Call = { -readonly [Part in keyof GivenCall]: GivenCall[Part] };

/** Statuses that matter to the reader even where they come within an answer. */
const TELLING: readonly unknown[] = [401, 402, 403, 429];
/** The field with the text of a thought, by its type: texts come in pieces, everything else comes whole. */
const TEXT_OF = new Map<unknown, string>([
  ['reasoning.text', 'text'],
  ['reasoning.summary', 'summary'],
]);
const LINE_END = /\r\n|\n|\r(?!$)/;

export class Assembly {
  readonly #decoder = new TextDecoder();
  readonly #calls: [index: number, call: Call][] = [];
  /** The newest call of each index. */
  readonly #open = new Map<number, Call>();
  #isDocument: boolean | null = null;
  /** The incomplete rest: a document, or a line. */
  #rest = '';
  #data: string[] = [];
  #content = '';
  #reasoning = '';
  #thought: string | null = null;
  readonly #details: Fields[] = [];
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
    const calls = this.#calls.toSorted(([one], [other]) => one - other).map(([, call]) => call);
    const reply = { content: this.#content, reasoning: this.#reasoning, finish: this.#finish, refused: this.#refused };
    const thoughts = {
      ...(this.#thought === null ? {} : { reasoning_content: this.#thought }),
      ...(this.#details.length === 0 ? {} : { reasoning_details: this.#details }),
    };
    return { ...reply, calls, thoughts };
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
    this.#think(said);
    if (textOf(said.refusal) !== '') this.#refused = true;
    if (Array.isArray(said.tool_calls)) (said.tool_calls as unknown[]).forEach((call, at) => this.#join(call, at));
  }

  /** Keep what goes back with the answer, and put the pieces of one text together. */
  #think(said: Fields): void {
    if (typeof said.reasoning_content === 'string') this.#thought = (this.#thought ?? '') + said.reasoning_content;
    if (!Array.isArray(said.reasoning_details)) return;
    for (const piece of (said.reasoning_details as unknown[]).map(asFields)) {
      const last = asFields(this.#details.at(-1));
      const text = TEXT_OF.get(piece.type);
      if (text === undefined || last.type !== piece.type || last.index !== piece.index) this.#details.push(piece);
      else this.#details.splice(-1, 1, { ...last, ...piece, [text]: textOf(last[text]) + textOf(piece[text]) });
    }
  }

  #join(given: unknown, at: number): void {
    const piece = asFields(given);
    const { name, arguments: more } = asFields(piece.function);
    const index = typeof piece.index === 'number' ? piece.index : at;
    const next: Call = {
      ...(piece.extra_content === undefined ? {} : { extra: piece.extra_content }),
      id: textOf(piece.id),
      name: textOf(name),
      arguments: typeof more === 'object' && more !== null ? JSON.stringify(more) : textOf(more),
    };
    const call = this.#open.get(index);
    if (call === undefined || beginsAnother(call, next)) {
      this.#open.set(index, next);
      this.#calls.push([index, next]);
      return;
    }
    call.id ||= next.id;
    call.name ||= next.name;
    call.arguments += next.arguments;
    call.extra ??= next.extra;
  }
}

/** Whether a piece with the index of a call begins another one: Ollama, among others, gives every call the index 0. */
function beginsAnother(call: Call, next: Call): boolean {
  if (next.name === '') return false;
  if (next.id !== '' && call.id !== '') return next.id !== call.id;
  return next.arguments !== '' && parse(call.arguments) !== null;
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
