/**
 * Reads a page that may be changed while it is read.
 *
 * A look is taken in slices; if what it read was changed meanwhile it is repeated, and finally done in one piece: half of one
 * state and half of another would be a version that never existed.
 */
import type { Exclusion } from '../platforms/base';
import type { Steps } from '../platforms/steps';
import { runInSlices, type Yielder } from './slices';

/** Where the words of the current post are. */
export interface PostLocation {
  readonly root: Element;
  /** Changes outside of this element do not concern the post; null if its surroundings count. */
  readonly scope: Element | null;
  readonly excluded: Exclusion;
}

/** Elements around a post in which what belongs to it (a player, a picture, its own re-rendering) appears. */
const SURROUNDINGS = 'article, main, [role="main"]';
const SLICED_LOOKS = 2;

/** Whether a change of a node's inside can have changed what stands in a location. */
export function affects({ root, scope }: PostLocation, changed: Node): boolean {
  if (scope !== null) return scope.contains(changed);
  const around = root.closest(SURROUNDINGS) ?? root;
  return around.contains(changed) || changed.contains(around);
}

export class PageReading {
  readonly #yielder: Yielder;
  #touched: Node[] | null = null;
  /** Something was changed since the last look began. */
  dirty = true;

  constructor(yielder: Yielder) {
    this.#yielder = yielder;
  }

  /** Nodes were changed. */
  touch(nodes: readonly Node[]): void {
    this.dirty = true;
    this.#touched?.push(...nodes);
  }

  /** Take a look; null once it is `over`. */
  async look<T extends { readonly location: PostLocation | null }>(
    steps: () => Steps<T>,
    over: () => boolean,
  ): Promise<T | null> {
    for (let looks = 1; ; looks++) {
      const touched: Node[] = (this.#touched = []);
      this.dirty = false;
      const yielder = looks > SLICED_LOOKS ? { ...this.#yielder, sliceMs: Infinity } : this.#yielder;
      const found = await runInSlices(steps(), yielder, over);
      if (this.#touched === touched) this.#touched = null;
      if (found?.location == null) return found;
      const { location } = found;
      if (location.root.isConnected && !touched.some((node) => affects(location, node))) return found;
    }
  }
}
