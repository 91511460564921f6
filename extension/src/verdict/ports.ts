/** What a check needs of the world; tests have their own. */
import type { ChatBody, ModelAnswer } from './chat_format';
import type { Hit } from './sources';

/** A server of chat completions. An aborted request answers with whatever; nothing reads it. */
export interface Model {
  ask(body: ChatBody, signal: AbortSignal): Promise<ModelAnswer>;
}

export type SearchAnswer =
  { readonly ok: true; readonly results: readonly Hit[] } | { readonly ok: false; readonly error: string };

export interface SearchEngine {
  search(query: string, signal: AbortSignal): Promise<SearchAnswer>;
}

export interface Clock {
  /** Call once after `ms` milliseconds; calling the result cancels it. */
  after(ms: number, call: () => void): () => void;
}
