/**
 * Whether and when a content script should say again what its page shows. Pure. Source: docs/protocol.md 5.2.
 *
 * Only what may pass by itself is repeated; a server that refuses a page today is not asked again every half minute.
 */
import type { ErrorCode, SyncAnswer } from '../protocol/messages';
import type { Problem } from '../protocol/status';

const FIRST_MS = 1_000;
const LONGEST_MS = 30_000;

const CODES: Partial<Record<Problem['kind'], ErrorCode>> = {
  too_large: 'PAYLOAD_TOO_LARGE',
  upgrade_required: 'UPGRADE_REQUIRED',
  malformed_version: 'MALFORMED_EXTENSION_VERSION',
  bad_answer: 'INVALID_EXTENSION_MESSAGE',
  bad_content: 'INVALID_EXTENSION_MESSAGE',
};

const TEMPORARY: ReadonlySet<Problem['kind']> = new Set(['offline', 'server_down', 'no_permission']);

/** A result gets its proof with the log's next note, seconds later; the repetitions before the seventh take a minute. */
const PROOF_ATTEMPTS = 6;

/** Answer a page whose content could not be brought to the server. */
export function refusal(problem: Problem, attempt: number): SyncAnswer {
  const errorCode = CODES[problem.kind];
  const mayPass = TEMPORARY.has(problem.kind) || (problem.kind === 'unproven' && attempt < PROOF_ATTEMPTS);
  const retryAfterMs = mayPass ? backoffMs(attempt) : null;
  return { ok: false, error: problem.kind, ...(errorCode !== undefined && { errorCode }), retryAfterMs };
}

/** How long to wait after the `attempt`-th failure in a row, counted from 0. */
export function backoffMs(attempt: number): number {
  return Math.min(FIRST_MS * 2 ** Math.min(attempt, 16), LONGEST_MS);
}
