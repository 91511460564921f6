/** Whether the model's number fits its own verdict and sources; a warning on the card, never a correction. */
import { countFamilies } from './families';
import type { Verdict } from './salvage';
import type { Hit } from './sources';

export type WarningId = 'few_families' | 'band_verdict';

/** What does not fit, looked at before caps. */
export function checkBand(verdict: Verdict, confidence: number, sources: readonly Hit[]): WarningId | null {
  return warnOfBand(verdict, confidence, countFamilies(sources));
}

/** The same from the number of independent sources. */
export function warnOfBand(verdict: Verdict, confidence: number, families: number): WarningId | null {
  if (verdict === 'Opinion') return null;
  if (confidence >= 90) return families < 2 ? 'few_families' : null;
  const fitting: readonly Verdict[] | null =
    confidence < 20 ? ['Unverifiable', 'False'] : confidence >= 40 && confidence < 60 ? ['Mixed', 'Misleading'] : null;
  return fitting === null || fitting.includes(verdict) ? null : 'band_verdict';
}
