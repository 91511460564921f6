/**
 * Long work on the page's main thread is done in slices, so that the page stays responsive.
 *
 * The page may change between two slices: `stale` reports that, and the caller starts again.
 */
import type { Steps } from '../platforms/steps';

export interface Yielder {
  /** Milliseconds of work before yielding to the page. */
  readonly sliceMs: number;
  now(): number;
  /** Resolves after the page ran its own tasks. */
  yieldToPage(): Promise<void>;
}

interface YieldingScheduler {
  yield?: () => Promise<void>;
}

/** Slices of eight milliseconds on the real page. */
export function pageYielder(): Yielder {
  const scheduler = (globalThis as { scheduler?: YieldingScheduler }).scheduler;
  return {
    sliceMs: 8,
    now: () => performance.now(),
    yieldToPage: () =>
      typeof scheduler?.yield === 'function' ? scheduler.yield() : new Promise((resolve) => setTimeout(resolve, 0)),
  };
}

/** Run `steps` to the end, or stop and return null once `stale` is true. */
export async function runInSlices<T>(steps: Steps<T>, yielder: Yielder, stale: () => boolean): Promise<T | null> {
  let started = yielder.now();
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    if (yielder.now() - started < yielder.sliceMs) continue;
    await yielder.yieldToPage();
    if (stale()) return null;
    started = yielder.now();
  }
}
