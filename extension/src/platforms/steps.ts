/**
 * Long work on a page, cut into steps: between two of them a caller may let the page have its turn.
 *
 * Whoever does so must bear that the page changes in between; a reading over which it did is thrown away.
 */
export type Steps<T> = Generator<void, T>;

/** Nodes of a page between two steps: a small part of a millisecond. */
export const NODES_PER_STEP = 64;

/** Do all of it at once. */
export function whole<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}
