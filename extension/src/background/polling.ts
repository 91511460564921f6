/**
 * When to ask again about running investigations: every 5 s while this worker lives, after 30 s by alarm if it does
 * not.
 *
 * One round asks for everything that runs, and no two rounds overlap, however often one is requested. Trouble makes
 * the rounds rarer, up to 30 s; nothing running means no timer and no alarm at all. Source: docs/protocol.md 5.5.
 */
import type { Alarm } from './ports';

export const POLL_MS = 5_000;
export const LONGEST_MS = 30_000;

/** What a round found: `idle` asks for no other. */
export type Round = 'idle' | 'answered' | 'trouble';

export class Polling {
  readonly #ask: () => Promise<Round>;
  readonly #alarm: Alarm;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #round: Promise<void> | null = null;
  #requested = 0;
  #troubles = 0;

  constructor(ask: () => Promise<Round>, alarm: Alarm) {
    this.#ask = ask;
    this.#alarm = alarm;
  }

  /** Run a round now; a running one is followed by another. */
  async pollNow(): Promise<void> {
    if (this.#round !== null) {
      this.#requested++;
      return this.#round;
    }
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#round = this.#runRounds();
    await this.#round;
  }

  /** Schedule a round, unless one is running or scheduled. */
  pollLater(): void {
    if (this.#round !== null || this.#timer !== undefined) return;
    this.#schedule(1);
  }

  #schedule(troubles: number): void {
    this.#alarm.start();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.pollNow(), delayMs(troubles));
  }

  async #runRounds(): Promise<void> {
    let found: Round;
    try {
      let answered: number;
      do {
        answered = this.#requested;
        found = await this.#ask();
      } while (answered !== this.#requested);
    } catch (error) {
      found = 'trouble';
      console.error(error);
    } finally {
      this.#round = null;
    }
    this.#troubles = found === 'trouble' ? this.#troubles + 1 : 0;
    if (found === 'idle') {
      this.#alarm.stop();
      return;
    }
    this.#schedule(this.#troubles);
  }
}

/** How long to wait after this many rounds in trouble. */
export function delayMs(troubles: number): number {
  return Math.min(POLL_MS * 2 ** Math.min(troubles, 8), LONGEST_MS);
}
