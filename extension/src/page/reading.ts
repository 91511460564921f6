/**
 * Reads a page that may be changed while it is read.
 *
 * A look is taken in slices; if what it read was changed meanwhile it is taken anew, and at last in one piece: half of one
 * state and half of another would be a version that nobody has ever seen.
 */
import type { Exclusion } from '../platforms/base';
import type { Steps } from '../platforms/steps';
import { inSlices, type Breath } from './slices';

/** Where the words of the current post are. */
export interface Place {
  readonly root: Element;
  /** Changes outside of it are none of the post; null where its surroundings count. */
  readonly scope: Element | null;
  readonly excluded: Exclusion;
}

/** Elements around a post in which what belongs to it (a player, a picture, its own re-rendering) appears. */
const SURROUNDINGS = 'article, main, [role="main"]';
const SLICED_LOOKS = 2;

/** Whether a change of a node's inside can have changed what stands in a place. */
export function isAbout({ root, scope }: Place, changed: Node): boolean {
  if (scope !== null) return scope.contains(changed);
  const around = root.closest(SURROUNDINGS) ?? root;
  return around.contains(changed) || changed.contains(around);
}

export class PageReading {
  readonly #breath: Breath;
  #touched: Node[] | null = null;
  /** Something was changed since the last look began. */
  dirty = true;

  constructor(breath: Breath) {
    this.#breath = breath;
  }

  /** Nodes were changed. */
  touch(nodes: readonly Node[]): void {
    this.dirty = true;
    this.#touched?.push(...nodes);
  }

  /** Take a look; null once it is `over`. */
  async look<T extends { readonly place: Place | null }>(
    steps: () => Steps<T>,
    over: () => boolean,
  ): Promise<T | null> {
    for (let looks = 1; ; looks++) {
      const touched: Node[] = (this.#touched = []);
      this.dirty = false;
      const breath = looks > SLICED_LOOKS ? { ...this.#breath, sliceMs: Infinity } : this.#breath;
      const found = await inSlices(steps(), breath, over);
      if (this.#touched === touched) this.#touched = null;
      if (found?.place == null) return found;
      const { place } = found;
      if (place.root.isConnected && !touched.some((node) => isAbout(place, node))) return found;
    }
  }
}
