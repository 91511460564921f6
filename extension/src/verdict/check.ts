/**
 * A check as the reader sees it: what it sends while it runs, and what it ends with.
 *
 * All of it lives in the reader's own tab. None of it is stored, and none of it goes to a server of ours.
 */
import type { WarningId } from './bands';
import type { CapId } from './caps';
import type { Claim, Verdict } from './salvage';
import type { Hit } from './sources';

/** One search of the model's. `results` is null where the search failed. */
export interface Search {
  readonly query: string;
  readonly results: readonly Hit[] | null;
}

export type EngineName = 'none' | 'duckduckgo' | 'brave' | 'tavily';

/** The instructions that a model got. `version` is `own` for those of the reader. */
export interface PromptId {
  readonly version: string;
  readonly sha256: string;
}

export interface Card {
  readonly verdict: Verdict;
  /** After caps. */
  readonly confidence: number;
  readonly modelConfidence: number;
  readonly summary: string;
  readonly claims: readonly Claim[];
  readonly caveats: string;
  readonly sources: readonly Hit[];
  /** The model named no sources: these are the first results of its searches. */
  readonly sourcesBackfilled: boolean;
  /** How many of the model's addresses no search returned. */
  readonly dropped: number;
  readonly capsApplied: readonly CapId[];
  readonly warnings: readonly WarningId[];
  readonly searches: readonly Search[];
  readonly prompt: PromptId;
  readonly model: string;
  readonly engine: EngineName;
}

/** Why there is no card. `host` is the server that the sentence is about. */
export type Failure =
  /** Nothing was sent: the reader has to choose, to agree or to allow something first. */
  | { readonly code: 'not_configured' | 'no_consent' }
  | { readonly code: 'no_permission'; readonly host: string }
  /** Nothing was sent: words missing, cut, translated, too long, or no permalink. */
  | { readonly code: 'unreadable_post' }
  /** Nothing was sent: three checks run already. */
  | { readonly code: 'too_many_checks' }
  | {
      readonly code: 'model_key_refused' | 'model_error' | 'model_unreachable' | 'model_silent' | 'model_refused';
      readonly host: string;
    }
  /** No credit, or asked too often. Units: seconds. */
  | { readonly code: 'model_quota'; readonly host: string; readonly retryAfterS: number | null }
  /** `said` is what the model answered, for this tab only. */
  | { readonly code: 'unparseable_output'; readonly said: string }
  /** The whole check took too long. */
  | { readonly code: 'timed_out' }
  /** The browser ended the part of the extension that ran the check. */
  | { readonly code: 'interrupted' };

export type FailureCode = Failure['code'];

/** What a check sends while it runs; the last one has `at` of `Ended`. */
export type Out =
  /** The model is asked. `request` counts from 1; `last` has no tool and asks for the answer. */
  | { readonly at: 'asking'; readonly request: number; readonly last: boolean }
  | { readonly at: 'searching'; readonly query: string }
  | { readonly at: 'found'; readonly search: Search }
  | Ended;

export type Ended =
  | { readonly at: 'done'; readonly card: Card }
  | { readonly at: 'failed'; readonly failure: Failure }
  | { readonly at: 'cancelled' };

/** Whether nothing follows. */
export function isEnded(out: Out): out is Ended {
  return out.at === 'done' || out.at === 'failed' || out.at === 'cancelled';
}

/** What a connection test saw. `search` is null where no search is chosen. */
export interface ConnectionReport {
  readonly model:
    | { readonly ok: true; readonly said: string; readonly ms: number }
    | { readonly ok: false; readonly failure: Failure };
  readonly search:
    | { readonly ok: true; readonly results: number; readonly ms: number }
    | { readonly ok: false; readonly error: string }
    | null;
}
