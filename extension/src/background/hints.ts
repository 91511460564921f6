/**
 * Hints of private readers who chose to help: one view in eight is sent, alone and hours later.
 *
 * A hint that is not answered is not repeated. Source: row TR-27 of docs/requirements/trust.md.
 */
import { SITES } from '../platforms';
import { readingMode, readSettings } from '../settings/settings';
import type { Area, Clock } from './ports';
import type { ServerClient } from './server_client';

const KEY = 'hints';
const HOUR_MS = 3_600_000;
/** Two hints closer together would show that they come from one reader; a hint due longer ago than this was missed. */
const APART_MS = HOUR_MS / 4;
const STALE_MS = 48 * HOUR_MS;

/** Units: milliseconds since 1970. */
export interface Hint {
  readonly platform: string;
  readonly externalId: string;
  readonly seen: number;
  readonly due: number;
}

/** Draw when a view is to be sent. */
export function drawDue(now: number, random: () => number): number {
  return now + HOUR_MS * (1 + 23 * random());
}

/** The one hint to send now, if there is one, and those that are left: what was missed or is too near is drawn again. */
export function nextHint(
  hints: readonly Hint[],
  now: number,
  random: () => number,
): { readonly sent: Hint | undefined; readonly left: readonly Hint[] } {
  const fresh = hints.filter(({ seen }) => now - seen < STALE_MS);
  const sent = fresh.find(({ due }) => due <= now && due > now - APART_MS);
  const until = sent === undefined ? now : now + APART_MS;
  const left = fresh
    .filter((hint) => hint !== sent)
    .map((hint) => (hint.due <= until ? { ...hint, due: drawDue(now, random) } : hint));
  return { sent, left };
}

export class Hints {
  readonly #area: Area;
  readonly #client: ServerClient;
  readonly #clock: Clock;
  readonly #wakeIn: (minutes: number) => void;
  #last: Promise<void> = Promise.resolve();

  constructor(area: Area, client: ServerClient, clock: Clock, wakeIn: (minutes: number) => void) {
    this.#area = area;
    this.#client = client;
    this.#clock = clock;
    this.#wakeIn = wakeIn;
  }

  /** The reader views a post. */
  async see(platform: string, externalId: string): Promise<void> {
    const site = SITES.find((one) => one.platform === platform);
    if (site?.unsourced !== undefined || Math.random() >= 1 / 8) return;
    return this.#enqueue((hints, now) => [
      ...hints.filter((hint) => hint.externalId !== externalId),
      { platform, externalId, seen: now, due: drawDue(now, Math.random) },
    ]);
  }

  /** Send what is due, one at most. */
  async send(): Promise<void> {
    return this.#enqueue(async (hints, now) => {
      const { sent, left } = nextHint(hints, now, Math.random);
      // Stored before it is sent: if the worker is ended meanwhile, nothing is sent twice.
      await this.#keep(left);
      if (sent !== undefined) await this.#client.sendHint(sent);
      return left;
    });
  }

  /** The reader changed their mind, or the server. */
  async forget(): Promise<void> {
    return this.#enqueue(() => []);
  }

  async #enqueue(
    step: (hints: readonly Hint[], now: number) => readonly Hint[] | Promise<readonly Hint[]>,
  ): Promise<void> {
    const done = this.#last.then(async () => {
      const settings = await readSettings(this.#area);
      const isOn = settings.sendHints && readingMode(settings) === 'private';
      const hints = isOn ? (((await this.#area.get([KEY]))[KEY] ?? []) as readonly Hint[]) : [];
      const now = this.#clock.now();
      const left = isOn ? await step(hints, now) : [];
      await this.#keep(left);
      if (left.length > 0) this.#wakeIn((Math.min(...left.map(({ due }) => due)) - now) / 60_000);
    });
    this.#last = done.catch(() => undefined);
    return done;
  }

  async #keep(hints: readonly Hint[]): Promise<void> {
    await (hints.length > 0 ? this.#area.set({ [KEY]: hints }) : this.#area.remove(KEY));
  }
}
