/**
 * A check, step by step: `next` decides, and src/verdict/runner.ts does.
 *
 * The model is asked with the search tool until it answers without calls. Where that cannot be read, or after the last
 * request with the tool, it is asked once more without tools, for an answer of the given shape.
 */
import { checkBand } from './bands';
import { applyCaps } from './caps';
import type {
  AnswerFormat,
  ChatBody,
  ChatMessage,
  GivenCall,
  ModelAnswer,
  ModelProblem,
  SearchTool,
  Thoughts,
} from './chat_format';
import type { Card, EngineName, Failure, Out, PromptId, Search } from './check';
import { dayOf, systemMessage } from './context';
import { ANSWER_SCHEMA, LIMITS } from './given';
import type { SearchAnswer } from './ports';
import { failureOf, mayPass } from './problems';
import { type Answer, salvageReply } from './salvage';
import { checkSources } from './sources';
import { type Answered, answerCall, keepCalls, type KeptCall, planCall } from './tool_calls';

/** All that a check depends on beside the answers it gets. */
export interface Setup {
  readonly post: string;
  readonly prompt: PromptId & { readonly text: string };
  readonly model: string;
  readonly host: string;
  readonly maxTokens: number;
  readonly engine: EngineName;
  /** The route may pass the request to servers that would ignore the format. */
  readonly isRouted: boolean;
  /** False where this server is known to refuse a format. */
  readonly takesFormat: boolean;
  /** A time in ISO form, and an IANA name. */
  readonly moment: string;
  readonly zone: string;
}

interface Progress {
  readonly setup: Setup;
  readonly messages: readonly ChatMessage[];
  /** Requests with the tool, and calls, so far. */
  readonly requests: number;
  readonly calls: number;
  readonly searches: readonly Search[];
}

export type State =
  | { readonly at: 'idle'; readonly setup: Setup }
  | {
      readonly at: 'asking';
      readonly progress: Progress;
      /** `open` has the tool and may be answered with calls; the others ask for the end, with and without a format. */
      readonly form: 'open' | 'format' | 'plain';
      readonly retried: boolean;
    }
  | {
      readonly at: 'searching';
      readonly progress: Progress;
      readonly query: string;
      readonly call: KeptCall;
      readonly waiting: readonly KeptCall[];
      /** Its position in its turn, from 0. */
      readonly place: number;
    }
  | { readonly at: 'ended' };

export type Event =
  | { readonly kind: 'start' }
  | { readonly kind: 'answered'; readonly answer: ModelAnswer }
  | { readonly kind: 'searched'; readonly answer: SearchAnswer }
  | { readonly kind: 'cancelled' }
  | { readonly kind: 'timed_out' };

export type Effect =
  | { readonly kind: 'send'; readonly out: Out }
  | { readonly kind: 'ask'; readonly body: ChatBody }
  | { readonly kind: 'search'; readonly query: string }
  /** This server refuses a format, and answers without one. */
  | { readonly kind: 'remember_no_format' };

/** At most one of the effects asks or searches, as the last one. A state that has ended wants nothing more. */
export interface Step {
  readonly state: State;
  readonly effects: readonly Effect[];
}

type Asking = Extract<State, { at: 'asking' }>;
type Searching = Extract<State, { at: 'searching' }>;

export function next(state: State, event: Event): Step {
  if (state.at === 'ended') return { state, effects: [] };
  if (event.kind === 'cancelled') return end({ at: 'cancelled' });
  if (event.kind === 'timed_out') return fail({ code: 'timed_out' });
  if (state.at === 'idle' && event.kind === 'start') return askOpen(begin(state.setup));
  if (state.at === 'asking' && event.kind === 'answered') return onAnswer(state, event.answer);
  if (state.at === 'searching' && event.kind === 'searched') return onSearched(state, event.answer);
  throw new Error(`${event.kind} while ${state.at}`);
}

function begin(setup: Setup): Progress {
  const system = systemMessage(setup.prompt.text, setup.moment, setup.zone);
  const messages: ChatMessage[] = [
    { role: 'system', content: system },
    { role: 'user', content: setup.post },
  ];
  return { setup, messages, requests: 0, calls: 0, searches: [] };
}

function askOpen(progress: Progress): Step {
  const requests = progress.requests + 1;
  return ask({ at: 'asking', progress: { ...progress, requests }, form: 'open', retried: false }, requests);
}

/** Ask for the end, with what the model said instead. */
function askForced(progress: Progress, said: string, thoughts: Thoughts = {}): Step {
  const messages: ChatMessage[] = [
    ...progress.messages,
    ...(said.trim() === '' ? [] : [{ role: 'assistant' as const, content: said, ...thoughts }]),
    { role: 'user', content: LIMITS.closing },
  ];
  const form = progress.setup.takesFormat ? 'format' : 'plain';
  return ask({ at: 'asking', progress: { ...progress, messages }, form, retried: false }, progress.requests + 1);
}

function ask(state: Asking, request: number): Step {
  const out: Out = { at: 'asking', request, last: state.form !== 'open' };
  return {
    state,
    effects: [
      { kind: 'send', out },
      { kind: 'ask', body: bodyOf(state) },
    ],
  };
}

function onAnswer(state: Asking, answer: ModelAnswer): Step {
  if (!answer.ok) return onProblem(state, answer.problem);
  const { progress, form } = state;
  const { content, reasoning, calls, thoughts, finish, refused } = answer.reply;
  const learned: Effect[] = form === 'plain' && progress.setup.takesFormat ? [{ kind: 'remember_no_format' }] : [];
  const after = (step: Step): Step => ({ ...step, effects: [...learned, ...step.effects] });
  if (refused || finish === 'content_filter') {
    return after(fail({ code: 'model_refused', host: progress.setup.host }));
  }
  if (form === 'open' && calls.length > 0) return beginSearching(progress, content, calls, thoughts);
  const found = salvageReply(content, reasoning);
  if (found !== null) return after(end({ at: 'done', card: cardOf(progress, found) }));
  if (form === 'open') return askForced(progress, content, thoughts);
  return after(fail({ code: 'unparseable_output', said: content.trim() === '' ? reasoning : content }));
}

function onProblem(state: Asking, problem: ModelProblem): Step {
  // Servers word a refusal of the format differently, so any refusal of this kind may be one.
  const isAboutFormat =
    state.form === 'format' && problem.kind === 'status' && [400, 404, 422].includes(problem.status);
  if (!isAboutFormat && (state.retried || !mayPass(problem))) {
    return fail(failureOf(problem, state.progress.setup.host));
  }
  const again: Asking = { ...state, form: isAboutFormat ? 'plain' : state.form, retried: true };
  return { state: again, effects: [{ kind: 'ask', body: bodyOf(again) }] };
}

function beginSearching(progress: Progress, content: string, given: readonly GivenCall[], thoughts: Thoughts): Step {
  const calls = keepCalls(given, progress.messages);
  const message: ChatMessage = {
    role: 'assistant',
    content,
    tool_calls: calls.map(({ id, name, sent, extra }) => ({
      id,
      type: 'function',
      function: { name, arguments: sent },
      ...(extra === undefined ? {} : { extra_content: extra }),
    })),
    ...thoughts,
  };
  return continueSearching({ ...progress, messages: [...progress.messages, message] }, calls, 0, []);
}

/** Answer calls that need no search, up to one that does or to the next request. */
function continueSearching(
  progress: Progress,
  waiting: readonly KeptCall[],
  place: number,
  effects: readonly Effect[],
): Step {
  const [call, ...rest] = waiting;
  if (call === undefined) {
    const step = progress.requests < LIMITS.toolRequests ? askOpen(progress) : askForced(progress, '');
    return { ...step, effects: [...effects, ...step.effects] };
  }
  const plan = planCall(call, place, progress.calls, progress.setup.engine);
  const counted = { ...progress, calls: progress.calls + 1 };
  if (!plan.ok) return continueSearching(answerWith(counted, call, plan), rest, place + 1, effects);
  const state: Searching = { at: 'searching', progress: counted, query: plan.query, call, waiting: rest, place };
  const out: Out = { at: 'searching', query: plan.query };
  return { state, effects: [...effects, { kind: 'send', out }, { kind: 'search', query: plan.query }] };
}

function onSearched({ progress, query, call, waiting, place }: Searching, answer: SearchAnswer): Step {
  const search: Search = { query, results: answer.ok ? answer.results : null };
  const answered = answerWith(progress, call, answer.ok ? { ...answer, query } : answer);
  const found: Effect = { kind: 'send', out: { at: 'found', search } };
  const kept = { ...answered, searches: [...progress.searches, search] };
  return continueSearching(kept, waiting, place + 1, [found]);
}

function answerWith(progress: Progress, { id }: KeptCall, answered: Answered): Progress {
  const message: ChatMessage = { role: 'tool', tool_call_id: id, content: answerCall(answered) };
  return { ...progress, messages: [...progress.messages, message] };
}

function cardOf({ setup, searches }: Progress, answer: Answer): Card {
  const returned = searches.flatMap(({ results }) => results ?? []);
  const { sources, dropped, backfilled } = checkSources(answer, returned);
  const answered = searches.filter(({ results }) => results !== null).length;
  const today = dayOf(setup.moment, setup.zone);
  const { verdict, confidence: modelConfidence, summary, claims, caveats } = answer;
  const evidence = { post: setup.post, returned, sources, searches: answered, today };
  const { confidence, caps } = applyCaps(verdict, modelConfidence, evidence);
  const warning = checkBand(verdict, modelConfidence, sources);
  const { version, sha256 } = setup.prompt;
  return {
    ...{ verdict, confidence, modelConfidence, summary, claims, caveats, sources, sourcesBackfilled: backfilled },
    ...{ dropped, capsApplied: caps, warnings: warning === null ? [] : [warning], searches },
    ...{ prompt: { version, sha256 }, model: setup.model, engine: setup.engine },
  };
}

function end(out: Out): Step {
  return { state: { at: 'ended' }, effects: [{ kind: 'send', out }] };
}

function fail(failure: Failure): Step {
  return end({ at: 'failed', failure });
}

function bodyOf({ form, progress: { setup, messages } }: Asking): ChatBody {
  const body = { model: setup.model, messages, stream: true, max_tokens: setup.maxTokens } as const;
  if (form === 'open') return setup.engine === 'none' ? body : { ...body, tools: [TOOL] };
  if (form === 'plain') return body;
  const response_format = FORMAT;
  return setup.isRouted
    ? { ...body, response_format, provider: { require_parameters: true } }
    : { ...body, response_format };
}

const FORMAT: AnswerFormat = {
  type: 'json_schema',
  json_schema: { name: 'verdict', strict: true, schema: ANSWER_SCHEMA },
};

const TOOL: SearchTool = {
  type: 'function',
  function: {
    name: 'web_search',
    description: 'Search the web. The answer holds titles, addresses and snippets of pages.',
    parameters: {
      type: 'object',
      properties: { query: { type: 'string' } },
      required: ['query'],
      additionalProperties: false,
    },
  },
};
