/**
 * Long work on a page, cut into steps: between two of them a caller may yield to the page.
 *
 * The page may change in between; then the reading is discarded.
 */
export type Steps<T> = Generator<void, T>;

/** Nodes of a page between two steps: a small part of a millisecond. */
export const NODES_PER_STEP = 64;

/** Run all steps at once. */
export function runToEnd<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}
