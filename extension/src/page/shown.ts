/**
 * From what the worker says of a post to what a reader is shown of it. Pure.
 */
import { displayed, type TabStatus } from '../protocol/status';
import type { Finding } from './frame_messages';
import { NOTHING_SHOWN, type Shown } from './ports';

/** The findings of a status; each id once, as everything here tells findings apart by their ids. */
export function shownOf({ state }: Pick<TabStatus, 'state'>, publicUrl: string | null): Shown {
  const found = displayed(state);
  if (found === null) return NOTHING_SHOWN;
  const findings = new Map<string, Finding>();
  for (const { id, text, context, summary, reasoning, sources } of found.claims) {
    if (!findings.has(id)) findings.set(id, { id, quote: text, context, summary, reasoning, sources });
  }
  const investigated = state.kind === 'investigated' ? state : null;
  return {
    findings: [...findings.values()],
    standing: {
      interim: found.interim,
      provenance: investigated?.provenance ?? null,
      corroborations: investigated?.corroborationCount ?? null,
      publicUrl,
    },
  };
}
