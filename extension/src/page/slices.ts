/**
 * Long work on the page's main thread is done in slices, so that no reader feels it.
 *
 * What is sliced has to bear the page changing between two slices: the caller is told through `stale` and starts anew.
 */
import type { Steps } from '../platforms/steps';

export interface Breath {
  /** Milliseconds of work before the page gets its turn. */
  readonly sliceMs: number;
  now(): number;
  /** Resolves after the page had its turn. */
  rest(): Promise<void>;
}

interface YieldingScheduler {
  yield?: () => Promise<void>;
}

/** Slices of eight milliseconds on the real page. */
export function pageBreath(): Breath {
  const scheduler = (globalThis as { scheduler?: YieldingScheduler }).scheduler;
  return {
    sliceMs: 8,
    now: () => performance.now(),
    rest: () =>
      typeof scheduler?.yield === 'function' ? scheduler.yield() : new Promise((resolve) => setTimeout(resolve, 0)),
  };
}

/** Run `steps` to the end, or give it up and return null once `stale` says that its ground has moved. */
export async function inSlices<T>(steps: Steps<T>, breath: Breath, stale: () => boolean): Promise<T | null> {
  let started = breath.now();
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    if (breath.now() - started < breath.sliceMs) continue;
    await breath.rest();
    if (stale()) return null;
    started = breath.now();
  }
}
