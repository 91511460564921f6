/** Sources of a verdict are pages that a search returned, by their own titles; a model cannot add any. */
import { LIMITS } from './given';
import type { Answer, Source } from './salvage';

/** A page that a search returned. `date` is a day in ISO form, absent where the engine knows none. */
export interface Hit {
  readonly title: string;
  readonly url: string;
  readonly snippet: string;
  readonly date?: string;
}

export interface CheckedSources {
  readonly sources: readonly Hit[];
  /** How many of the model's addresses no search returned. */
  readonly dropped: number;
  readonly backfilled: boolean;
}

/** The pages that a verdict rests on. */
export function checkSources(answer: Pick<Answer, 'verdict' | 'sources'>, returned: readonly Hit[]): CheckedSources {
  const { kept, dropped } = keepReturned(answer.sources ?? [], returned);
  const leftOut = answer.sources === null || (answer.sources.length === 0 && answer.verdict !== 'Opinion');
  const added = leftOut ? backfill(returned) : [];
  return { sources: [...kept, ...added], dropped, backfilled: added.length > 0 };
}

/** The results that the given addresses name, each once, and how many name none. */
export function keepReturned(given: readonly Source[], returned: readonly Hit[]): { kept: Hit[]; dropped: number } {
  const known = byAddress(returned);
  const kept = new Set<Hit>();
  let dropped = 0;
  for (const { url } of given) {
    const hit = known.get(simplify(url));
    if (hit === undefined) dropped += 1;
    else kept.add(hit);
  }
  return { kept: [...kept], dropped };
}

/** The first results, for a model that searched and named none. */
export function backfill(returned: readonly Hit[]): Hit[] {
  return [...byAddress(returned).values()].slice(0, LIMITS.backfilled);
}

function byAddress(returned: readonly Hit[]): Map<string, Hit> {
  const known = new Map<string, Hit>();
  for (const hit of returned) {
    const key = simplify(hit.url);
    if (!known.has(key)) known.set(key, hit);
  }
  return known;
}

function simplify(url: string): string {
  return url.replace(/#.*$/s, '').replace(/\/$/, '');
}
