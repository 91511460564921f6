/** Chat completions as servers of models speak them: what is sent, and what an answer holds once it is complete. */
import type { ANSWER_SCHEMA } from './given';

export interface ToolCall {
  readonly id: string;
  readonly type: 'function';
  readonly function: { readonly name: string; readonly arguments: string };
  readonly extra_content?: unknown;
}

export type ChatMessage =
  | { readonly role: 'system' | 'user'; readonly content: string }
  | (Thoughts & { readonly role: 'assistant'; readonly content: string; readonly tool_calls?: readonly ToolCall[] })
  | { readonly role: 'tool'; readonly tool_call_id: string; readonly content: string };

/**
 * What some servers want back with a model's answer: DeepSeek and Kimi its thoughts, OpenRouter for Google's models their
 * signatures. They refuse calls without. Each gets back only what it sent.
 */
export interface Thoughts {
  readonly reasoning_content?: string;
  readonly reasoning_details?: readonly unknown[];
}

export interface SearchTool {
  readonly type: 'function';
  readonly function: { readonly name: 'web_search'; readonly description: string; readonly parameters: object };
}

/** The body of a request. Tools and a format never go together: servers then call no tool, or refuse. */
export type ChatBody = {
  readonly model: string;
  readonly messages: readonly ChatMessage[];
  readonly stream: true;
  readonly max_tokens: number;
} & (
  | { readonly tools: readonly [SearchTool] }
  | { readonly response_format: AnswerFormat; readonly provider?: { readonly require_parameters: true } }
  | object
);

export interface AnswerFormat {
  readonly type: 'json_schema';
  readonly json_schema: { readonly name: 'verdict'; readonly strict: true; readonly schema: typeof ANSWER_SCHEMA };
}

/** A complete answer. Texts are empty where the server sent none. */
export interface Reply {
  readonly content: string;
  /** What servers put beside the content: thoughts, or the answer itself. */
  readonly reasoning: string;
  readonly calls: readonly GivenCall[];
  readonly thoughts: Thoughts;
  /** Null where the server gave none. */
  readonly finish: string | null;
  readonly refused: boolean;
}

/** A call as the model wrote it: the id may be empty or repeated, the arguments may not be JSON. */
export interface GivenCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
  /** What a server wants back with the call: Google's models sign their thoughts, and refuse calls without. */
  readonly extra?: unknown;
}

/** Why a request has no answer. */
export type ModelProblem =
  /** `retryAfterS` is null where the server named no time. */
  | { readonly kind: 'status'; readonly status: number; readonly retryAfterS: number | null }
  /** No connection, or one that broke. `begun`: a part of the answer had come. */
  | { readonly kind: 'lost'; readonly begun: boolean }
  /** An unusable answer: it holds an error, is not a chat completion, or has no end. */
  | { readonly kind: 'broken' }
  | { readonly kind: 'silent' };

export type ModelAnswer =
  { readonly ok: true; readonly reply: Reply } | { readonly ok: false; readonly problem: ModelProblem };
