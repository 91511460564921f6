/**
 * Investigations that this browser knows to be under way or to have failed, by version.
 *
 * A server does not say with a view that a version is being investigated, so after a reload only this memory finds
 * the way back to the progress. It also keeps a failed version from being investigated again, at the reader's expense,
 * on each view.
 */
import type { Area, Clock } from './ports';

const KEY = 'runs';
const RETENTION_MS = 24 * 60 * 60 * 1000;

export interface Run {
  readonly investigationId: string;
  readonly outcome: 'running' | 'failed';
  /** Units: milliseconds since 1970. */
  readonly since: number;
}

export class Runs {
  readonly #area: Area;
  readonly #clock: Clock;
  readonly #known: Map<string, Run>;

  private constructor(area: Area, clock: Clock, known: Map<string, Run>) {
    this.#area = area;
    this.#clock = clock;
    this.#known = known;
  }

  static async load(area: Area, clock: Clock): Promise<Runs> {
    const stored = ((await area.get([KEY]))[KEY] ?? {}) as Record<string, Run>;
    return new Runs(area, clock, new Map(Object.entries(stored)));
  }

  get(postVersionId: string): Run | null {
    const run = this.#known.get(postVersionId);
    return run === undefined || this.#clock.now() - run.since > RETENTION_MS ? null : run;
  }

  async put(postVersionId: string, investigationId: string, outcome: Run['outcome']): Promise<void> {
    const known = this.get(postVersionId);
    if (known?.investigationId === investigationId && known.outcome === outcome) return;
    this.#known.set(postVersionId, { investigationId, outcome, since: this.#clock.now() });
    await this.#write();
  }

  async remove(postVersionId: string): Promise<void> {
    if (this.#known.delete(postVersionId)) await this.#write();
  }

  /** Another server knows none of these. */
  async clear(): Promise<void> {
    this.#known.clear();
    await this.#write();
  }

  async #write(): Promise<void> {
    for (const id of this.#known.keys()) if (this.get(id) === null) this.#known.delete(id);
    await this.#area.set({ [KEY]: Object.fromEntries(this.#known) });
  }
}
