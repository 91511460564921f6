/** Limits of confidence that follow from what was searched and found, so that a model cannot talk its way past them. */
import { countFamilies, isWeak } from './families';
import { daysBefore, findFigures, isDay } from './figures';
import { LIMITS } from './given';
import type { Verdict } from './salvage';
import type { Hit } from './sources';

export type CapId = keyof typeof LIMITS.caps;

/** What is known beside the model's words. `today` is a day in ISO form. */
export interface Evidence {
  readonly post: string;
  readonly returned: readonly Hit[];
  readonly sources: readonly Hit[];
  /** Searches that were answered. */
  readonly searches: number;
  readonly today: string;
}

export interface Capped {
  readonly confidence: number;
  /** The caps that lie below what the model said. */
  readonly caps: readonly CapId[];
}

/** The capped confidence: the lowest cap applies, and no cap raises it. */
export function applyCaps(verdict: Verdict, confidence: number, evidence: Evidence): Capped {
  if (verdict === 'Opinion') return { confidence, caps: [] };
  const caps = (Object.keys(LIMITS.caps) as CapId[]).filter(
    (cap) => LIMITS.caps[cap] < confidence && CONDITIONS[cap](evidence),
  );
  return { confidence: Math.min(confidence, ...caps.map((cap) => LIMITS.caps[cap])), caps };
}

const CONDITIONS: Readonly<Record<CapId, (evidence: Evidence) => boolean>> = {
  no_search: ({ searches }) => searches === 0,
  old_sources: ({ post, sources, today }) => {
    const oldest = daysBefore(today, LIMITS.oldDays);
    const isOld = (day: string | undefined): boolean => day !== undefined && day < oldest;
    const { lastDays } = findFigures(post);
    const isAboutThePast = lastDays.length > 0 && lastDays.every(isOld);
    return sources.length > 0 && !isAboutThePast && sources.every(({ date }) => isDay(date ?? '') && isOld(date));
  },
  weak_source: ({ sources }) => sources.every(isWeak) && countFamilies(sources) === 1,
  number_not_found: ({ post, returned }) => {
    const { exact } = findFigures(post);
    if (exact.length === 0) return false;
    const found = returned.map(({ title, snippet }) => findFigures(`${title}\n${snippet}`).all);
    return !exact.some((readings) => [...readings].some((reading) => found.some((all) => all.has(reading))));
  },
};
