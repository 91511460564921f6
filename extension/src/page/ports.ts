/**
 * What the page session needs of the background worker; `src/page/background.ts` implements it.
 *
 * The worker may be gone at any moment: every call may fail, and only `SyncReply` decides whether it is repeated.
 */
import type { Anchoring, Quote, WalkedText } from '../anchoring';
import type { IdentityGuess, PageContent } from '../platforms/base';
import type { SkipReason } from '../protocol/status';
import type { Finding, FindingsInfo } from './frame_messages';

/** `retryAfterMs` is null where a retry would change nothing. */
export type SyncReply = { readonly ok: true } | { readonly ok: false; readonly retryAfterMs: number | null };

export interface Background {
  sendContent(session: string, content: PageContent, attempt: number): Promise<SyncReply>;
  sendSkipped(session: string, post: IdentityGuess, pageUrl: string, reason: SkipReason): Promise<SyncReply>;
  resetSession(session: string): Promise<void>;
  /** Null when the worker could not do it now. */
  anchor(text: WalkedText, quotes: readonly Quote[]): Promise<readonly Anchoring[] | null>;
}

/** What is to be shown for the post of one session. */
export interface DisplayedFindings {
  readonly findings: readonly Finding[];
  readonly info: FindingsInfo;
}

export const NO_FINDINGS: DisplayedFindings = {
  findings: [],
  info: { interim: false, provenance: null, corroborations: null, proof: null, publicUrl: null },
};
