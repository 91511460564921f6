/**
 * Derives what a reader is shown from a post's status. Pure.
 */
import { displayedClaims, type TabStatus } from '../protocol/status';
import type { Finding } from './frame_messages';
import { NO_FINDINGS, type DisplayedFindings } from './ports';

/** The findings of a status; each id once, since ids identify findings. */
export function toDisplayedFindings(
  { state, proof }: Pick<TabStatus, 'state' | 'proof'>,
  publicUrl: string | null,
): DisplayedFindings {
  const found = displayedClaims(state);
  if (found === null) return NO_FINDINGS;
  const findings = new Map<string, Finding>();
  for (const { text: quote, ...claim } of found.claims) findings.set(claim.id, { quote, ...claim });
  const investigated = state.kind === 'investigated' ? state : null;
  return {
    findings: [...findings.values()],
    info: {
      interim: found.interim,
      provenance: investigated?.provenance ?? null,
      corroborations: investigated?.corroborationCount ?? null,
      proof,
      publicUrl,
    },
  };
}

/** The findings in the order of the page; those that have no place there come last. */
export function sortByPosition(claimIds: readonly string[], findings: readonly Finding[]): Finding[] {
  const place = new Map(claimIds.map((id, index) => [id, index]));
  const at = ({ id }: Finding): number => place.get(id) ?? claimIds.length;
  return [...findings].sort((one, other) => at(one) - at(other));
}
