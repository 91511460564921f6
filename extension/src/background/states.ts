/**
 * From a server's answer to the state of a post. Pure.
 *
 * Candidates are counted here and dropped. An answer that omits something already known (such as an investigation's id)
 * does not overwrite it.
 */
import type { RequestStatus, InvestigationStatus, ViewStatus } from '../protocol/rpc';
import type { Investigating, PostState, PriorResult, Problem } from '../protocol/status';

/** Read the answer to a view or to a question about an investigation. */
export function stateOf(answer: ViewStatus | InvestigationStatus, investigationId: string | null): PostState {
  switch (answer.investigationState) {
    case 'NOT_INVESTIGATED':
      return { kind: 'not_investigated', prior: answer.priorInvestigationResult };
    case 'INVESTIGATING':
      return {
        kind: 'investigating',
        investigationId: answer.investigationId ?? investigationId,
        pendingCount: answer.pendingClaims.length,
        confirmed: answer.confirmedClaims,
        prior: answer.priorInvestigationResult,
        trouble: null,
        wanted: false,
      };
    case 'INVESTIGATED':
      return {
        kind: 'investigated',
        provenance: answer.provenance,
        claims: answer.claims,
        investigationId: answer.investigationId ?? investigationId,
        corroborationCount: answer.corroborationCount ?? null,
        checkedAt: answer.checkedAt ?? null,
      };
    case 'FAILED':
      return { kind: 'failed' };
  }
}

/** Read the answer to a request; `prior` stays what it was. */
export function stateOfRequest(answer: RequestStatus, prior: PriorResult | null): PostState {
  switch (answer.status) {
    case 'FAILED':
      return { kind: 'failed' };
    case 'COMPLETE':
      return {
        kind: 'investigated',
        provenance: answer.provenance,
        claims: answer.claims,
        investigationId: answer.investigationId,
        corroborationCount: null,
        checkedAt: null,
      };
    default:
      return runningState(answer.investigationId, prior);
  }
}

/** A running investigation without any detail yet. */
export function runningState(investigationId: string, prior: PriorResult | null): PostState {
  return { ...requestedState(prior), investigationId, wanted: false };
}

/** An investigation that the reader wants; `trouble` is why it has not begun. */
export function requestedState(prior: PriorResult | null, trouble: Problem | null = null): Investigating {
  return { kind: 'investigating', investigationId: null, pendingCount: 0, confirmed: [], prior, trouble, wanted: true };
}

export function priorOf(state: PostState): PriorResult | null {
  return state.kind === 'not_investigated' || state.kind === 'investigating' ? state.prior : null;
}
