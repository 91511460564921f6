/**
 * Findings that are taken back after a reader has seen them: the server does not know who saw what, so this browser
 * remembers the names of findings and compares them with the files of what was taken back.
 *
 * A reader is given one notice of a finding, whatever becomes of it later. Source: row TR-34 of
 * docs/requirements/trust.md.
 */
import { DAY_MS, daysBetween } from '../lookup/files';
import { addNotices } from '../settings/notices';
import type { LookupFiles } from './lookup_files';
import type { Area, Clock } from './ports';

const KEY = 'seen';
const MOST_CLAIMS = 5_000;
const RETENTION_MS = 400 * 86_400_000;
/** Files that are read at once, after this browser was away for longer. */
const MOST_DAYS = 14;
const PAUSE_MS = 10 * 60_000;
const TAKEN_BACK: ReadonlySet<string> = new Set(['SUSPENDED', 'RETRACTED']);

/** Shapes: by a finding's id, when it was first seen; negative once its notice was given. Units: milliseconds since 1970. */
interface Seen {
  readonly claims: Readonly<Record<string, number>>;
  /** Until when the files were compared. */
  readonly compared: number | null;
}

const NOTHING: Seen = { claims: {}, compared: null };

export class Retractions {
  readonly #area: Area;
  readonly #files: LookupFiles;
  readonly #clock: Clock;
  #last: Promise<void> = Promise.resolve();
  #tried = -Infinity;

  constructor(area: Area, files: LookupFiles, clock: Clock) {
    this.#area = area;
    this.#files = files;
    this.#clock = clock;
  }

  /** The reader is shown findings. */
  async see(ids: readonly string[]): Promise<void> {
    return this.#enqueue(async () => {
      const seen = await this.#read();
      const now = this.#clock.now();
      const unseen = ids.filter((id) => !Object.hasOwn(seen.claims, id));
      if (unseen.length === 0) return;
      const kept = Object.entries(seen.claims).filter(([, at]) => now - Math.abs(at) < RETENTION_MS);
      const claims = [...kept, ...unseen.map((id) => [id, now] as const)].slice(-MOST_CLAIMS);
      await this.#area.set({ [KEY]: { ...seen, claims: Object.fromEntries(claims) } });
    });
  }

  /** Compare what was seen with what was taken back since the last time; at most every ten minutes. */
  async compare(isPrivate: boolean): Promise<void> {
    return this.#enqueue(async () => {
      const now = this.#clock.now();
      const seen = await this.#read();
      if (Math.abs(now - Math.max(this.#tried, seen.compared ?? -Infinity)) < PAUSE_MS) return;
      // For a private reader, even whether there is something to compare stays secret: the files are always read.
      if (!isPrivate && Object.keys(seen.claims).length === 0) return;
      this.#tried = now;
      const states = new Map<string, string>();
      // A file is complete minutes after its day, and by this browser's clock that can have been before.
      const from = seen.compared === null ? firstSeen(seen, now) : seen.compared - DAY_MS;
      for (const day of daysBetween(from, now, MOST_DAYS)) {
        const file = await this.#files.retractions(day);
        if (!file.ok) return;
        for (const { id, state } of file.value?.claims ?? []) states.set(id, state);
      }
      const told = Object.entries(seen.claims).filter(([id, at]) => at > 0 && TAKEN_BACK.has(states.get(id) ?? ''));
      const claims = { ...seen.claims, ...Object.fromEntries(told.map(([id, at]) => [id, -at])) };
      // Stored together, so that a worker that is ended gives no notice twice and misses none.
      const notices = await addNotices(
        this.#area,
        told.map(([id]) => id),
      );
      await this.#area.set({ [KEY]: { claims, compared: now }, ...notices });
    });
  }

  async #read(): Promise<Seen> {
    return ((await this.#area.get([KEY]))[KEY] ?? NOTHING) as Seen;
  }

  async #enqueue(step: () => Promise<void>): Promise<void> {
    const done = this.#last.then(step);
    this.#last = done.catch(() => undefined);
    return done;
  }
}

function firstSeen({ claims }: Seen, now: number): number {
  return Math.min(now, ...Object.values(claims).map(Math.abs));
}
