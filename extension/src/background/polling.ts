/**
 * When to ask again about running investigations: every 5 s while this worker lives, after 30 s by alarm if it does
 * not.
 *
 * One round asks for everything that runs, and no two rounds overlap, however often somebody wants one. Trouble makes
 * the rounds rarer, up to 30 s; nothing running means no timer and no alarm at all. Source: CONTRACT 7.6.
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
  #asked = 0;
  #troubles = 0;

  constructor(ask: () => Promise<Round>, alarm: Alarm) {
    this.#ask = ask;
    this.#alarm = alarm;
  }

  /** Have a round now; one that is under way is followed by another. */
  async now(): Promise<void> {
    if (this.#round !== null) {
      this.#asked++;
      return this.#round;
    }
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#round = this.#rounds();
    await this.#round;
  }

  /** Have a round by and by, unless one is under way or awaited. */
  later(): void {
    if (this.#round !== null || this.#timer !== undefined) return;
    this.#wait(1);
  }

  #wait(troubles: number): void {
    this.#alarm.start();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.now(), pauseMs(troubles));
  }

  async #rounds(): Promise<void> {
    let found: Round;
    try {
      let answered: number;
      do {
        answered = this.#asked;
        found = await this.#ask();
      } while (answered !== this.#asked);
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
    this.#wait(this.#troubles);
  }
}

/** How long to wait after so many rounds in trouble. */
export function pauseMs(troubles: number): number {
  return Math.min(POLL_MS * 2 ** Math.min(troubles, 8), LONGEST_MS);
}
