/**
 * The status of every tab's post: in memory while the worker lives, and in storage for the worker that comes after
 * it.
 *
 * Changes are made in memory at once and written behind, so that there is one state between two awaits. The keys are
 * those of docs/protocol.md 5.6.
 */
import type { TabStatus } from '../protocol/status';
import type { Area } from './ports';

const PREFIX = 'tab:';

export class Tabs {
  readonly #area: Area;
  readonly #known: Map<number, TabStatus>;

  private constructor(area: Area, known: Map<number, TabStatus>) {
    this.#area = area;
    this.#known = known;
  }

  /** Load what an earlier worker stored. */
  static async load(area: Area): Promise<Tabs> {
    const known = new Map<number, TabStatus>();
    for (const [key, value] of Object.entries(await area.get(null))) {
      if (key.startsWith(PREFIX)) known.set(Number(key.slice(PREFIX.length)), value as TabStatus);
    }
    return new Tabs(area, known);
  }

  get(tabId: number): TabStatus | null {
    return this.#known.get(tabId) ?? null;
  }

  all(): readonly (readonly [number, TabStatus])[] {
    return [...this.#known];
  }

  async put(tabId: number, status: TabStatus): Promise<void> {
    this.#known.set(tabId, status);
    await this.#area.set({ [keyOf(tabId)]: status });
  }

  async remove(tabId: number): Promise<void> {
    if (this.#known.delete(tabId)) await this.#area.remove(keyOf(tabId));
  }

  /** Discard everything: a restarted browser reuses tab ids. */
  async clear(): Promise<void> {
    const keys = [...this.#known.keys()].map((tabId) => keyOf(tabId));
    this.#known.clear();
    await this.#area.remove(keys);
  }
}

function keyOf(tabId: number): string {
  return `${PREFIX}${tabId}`;
}
