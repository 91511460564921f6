/**
 * What the page session needs of the background worker, in its own words; `src/page/background.ts` speaks the protocol.
 *
 * The worker may be gone at any moment: every call may fail, and only what `Reply` says decides whether it is made again.
 */
import type { Anchoring, Quote, WalkedText } from '../anchoring';
import type { IdentityGuess, PageContent } from '../platforms/base';
import type { SkipReason } from '../protocol/status';
import type { Finding, Standing } from './frame_messages';

/** `retryAfterMs` is null where saying it again would change nothing. */
export type Reply = { readonly ok: true } | { readonly ok: false; readonly retryAfterMs: number | null };

export interface Background {
  content(session: string, content: PageContent, attempt: number): Promise<Reply>;
  skipped(session: string, post: IdentityGuess, pageUrl: string, reason: SkipReason): Promise<Reply>;
  reset(session: string): Promise<void>;
  /** Null when the worker could not do it now. */
  anchor(text: WalkedText, quotes: readonly Quote[]): Promise<readonly Anchoring[] | null>;
}

/** What is to be shown for the post of one session. */
export interface Shown {
  readonly findings: readonly Finding[];
  readonly standing: Standing;
}

export const NOTHING_SHOWN: Shown = {
  findings: [],
  standing: { interim: false, provenance: null, corroborations: null, publicUrl: null },
};
