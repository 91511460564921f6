/**
 * The verdict in a model's answer, whatever stands around it.
 *
 * The last object that has the shape counts: models think aloud, draft, and answer at the end. Nothing is repaired, so a
 * comma, quotation mark or number that the model did not write is never on a card.
 */
import { ANSWER_SCHEMA, LIMITS } from './given';
import { wellFormed } from './text';

export type Verdict = (typeof ANSWER_SCHEMA.properties.verdict.enum)[number];

export interface Claim {
  readonly claim: string;
  readonly assessment: string;
}

export interface Source {
  readonly title: string;
  readonly url: string;
}

/** What a model answered. `sources` is null where it left them out. */
export interface Answer {
  readonly verdict: Verdict;
  readonly confidence: number;
  readonly summary: string;
  readonly claims: readonly Claim[];
  readonly caveats: string;
  readonly sources: readonly Source[] | null;
}

const OPENED = /<think>/gi;
const CLOSED = /<\/think>/gi;
const FENCED = /```[^\n`]*\n(.*?)```/gs;
/** Quoted text, which may be open at the end, or a bracket. */
const TOKEN = /"(?:[^"\\]+|\\.)*"?|[{}[\]]/gs;
const VERDICTS = new Map(ANSWER_SCHEMA.properties.verdict.enum.map((verdict) => [verdict.toLowerCase(), verdict]));

/** The answer in a reply: its content or, where that is blank, what a server put beside it. */
export function salvageReply(content: string, reasoning: string): Answer | null {
  return salvage(dropThoughts(content).trim() === '' ? reasoning : content);
}

/** The last verdict in a text, null if it holds none. */
export function salvage(said: string): Answer | null {
  const text = dropThoughts(wellFormed(said));
  for (const candidate of candidates(text).reverse()) {
    const answer = readAnswer(parse(candidate));
    if (answer !== null) return answer;
  }
  return null;
}

/** A text without complete `<think>` blocks; one that is not closed may hold the answer. */
export function dropThoughts(text: string): string {
  const parts: string[] = [];
  let at = 0;
  for (;;) {
    OPENED.lastIndex = at;
    const opened = OPENED.exec(text);
    if (opened === null) break;
    CLOSED.lastIndex = opened.index;
    if (CLOSED.exec(text) === null) break;
    parts.push(text.slice(at, opened.index));
    at = CLOSED.lastIndex;
  }
  return parts.join('') + text.slice(at);
}

/** What may be the answer, by place: the whole text, each fenced block, each outermost object. */
function candidates(text: string): string[] {
  const found: [number, string][] = [[0, text.trim()]];
  for (const block of text.matchAll(FENCED)) found.push([block.index, block[1]!.trim()]);
  found.push(...objects(text));
  return found.sort((one, other) => one[0] - other[0]).map(([, candidate]) => candidate);
}

/** Each balanced `{…}` that lies in no other, with its place; a brace that is never closed is passed over. */
function objects(text: string): [number, string][] {
  const found: [number, string][] = [];
  let failed = 0;
  let start = text.indexOf('{');
  while (start >= 0 && failed < LIMITS.starts) {
    const end = closing(text, start);
    if (end === null) failed += 1;
    else found.push([start, text.slice(start, end)]);
    start = text.indexOf('{', end ?? start + 1);
  }
  return found;
}

function closing(text: string, start: number): number | null {
  let depth = 0;
  for (const { 0: token, index } of tokens(text, start)) {
    if (token === '{') depth += 1;
    else if (token === '}') depth -= 1;
    if (depth === 0) return index + token.length;
  }
  return null;
}

function tokens(text: string, start: number): Iterable<RegExpExecArray> {
  const pattern = new RegExp(TOKEN);
  pattern.lastIndex = start;
  return text.matchAll(pattern);
}

function parse(candidate: string): unknown {
  let depth = 0;
  for (const [token] of tokens(candidate, 0)) {
    if (token === '{' || token === '[') depth += 1;
    else if (token === '}' || token === ']') depth -= 1;
    if (depth > LIMITS.nesting) return null;
  }
  try {
    return JSON.parse(candidate);
  } catch {
    return null;
  }
}

type Fields = Readonly<Record<string, unknown>>;

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function readAnswer(value: unknown): Answer | null {
  if (!isObject(value)) return null;
  const verdict = typeof value.verdict === 'string' ? VERDICTS.get(simplify(value.verdict)) : undefined;
  const { confidence, summary, caveats } = value;
  const claims = readItems(value.claims, 'claim', 'assessment');
  const sources = Object.hasOwn(value, 'sources') ? readItems(value.sources, 'title', 'url') : null;
  if (verdict === undefined || typeof summary !== 'string' || typeof caveats !== 'string') return null;
  if (claims === undefined || sources === undefined) return null;
  if (typeof confidence !== 'number' || !Number.isInteger(confidence) || confidence < 0 || confidence > 100)
    return null;
  // Adding 0 turns minus zero into zero.
  const texts = { summary: wellFormed(summary), claims, caveats: wellFormed(caveats) };
  return { verdict, confidence: confidence + 0, ...texts, sources };
}

function simplify(word: string): string {
  return word.replace(/[\s_-]+/g, '').toLowerCase();
}

/** Objects of two texts; undefined if the value is anything else. */
function readItems<A extends string, B extends string>(
  values: unknown,
  one: A,
  other: B,
): readonly Record<A | B, string>[] | undefined {
  if (!Array.isArray(values)) return undefined;
  const read: Record<A | B, string>[] = [];
  for (const value of values as unknown[]) {
    if (!isObject(value)) return undefined;
    const [first, second] = [value[one], value[other]];
    if (typeof first !== 'string' || typeof second !== 'string') return undefined;
    read.push({ [one]: wellFormed(first), [other]: wellFormed(second) } as Record<A | B, string>);
  }
  return read;
}
