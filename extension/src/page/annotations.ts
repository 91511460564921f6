/**
 * Keeps the underlines true: the findings of the current post, where each of them stands on the page as it is now.
 *
 * An answer is used only if nothing happened since it was asked for: not another post, not other findings, not a change of
 * the text. Underlines that may have slipped are looked for anew; none is ever moved along.
 */
import type { Anchoring } from '../anchoring';
import { retryAfterMs } from './decide';
import type { Underlines } from './highlights';
import { NOTHING_SHOWN, type Background, type Shown } from './ports';
import { piecesOf, type Piece } from './ranges';
import type { Place } from './session';
import { inSlices, type Breath } from './slices';
import { walkSteps } from './walk';

export class Annotations {
  readonly #background: Pick<Background, 'anchor'>;
  readonly #underlines: Underlines;
  readonly #breath: Breath;
  readonly #place: () => Place | null;
  readonly #changed: () => void;
  #shown: Shown = NOTHING_SHOWN;
  #round = 0;
  #disturbed = false;
  #failures = 0;
  #again: ReturnType<typeof setTimeout> | undefined;

  /** `changed` is called when the findings or their underlines are others than before. */
  constructor(
    background: Pick<Background, 'anchor'>,
    underlines: Underlines,
    breath: Breath,
    place: () => Place | null,
    changed: () => void,
  ) {
    this.#background = background;
    this.#underlines = underlines;
    this.#breath = breath;
    this.#place = place;
    this.#changed = changed;
  }

  get shown(): Shown {
    return this.#shown;
  }

  /** These are the findings now. */
  show(shown: Shown): void {
    const same = JSON.stringify(shown.findings) === JSON.stringify(this.#shown.findings);
    this.#shown = shown;
    if (same) {
      this.#changed();
      return;
    }
    this.#failures = 0;
    void this.#anchor();
  }

  /** The text may have changed: nothing under way may be used. */
  disturb(): void {
    this.#disturbed = true;
  }

  /** The page came to rest, or its text is elsewhere: see whether the underlines are still true. */
  settle(): void {
    if (this.#disturbed || !this.#underlines.sound) void this.#anchor();
    else this.#underlines.restore();
  }

  /** The post's words are somewhere else. */
  moved(): void {
    this.#failures = 0;
    void this.#anchor();
  }

  async #anchor(): Promise<void> {
    clearTimeout(this.#again);
    const round = ++this.#round;
    this.#disturbed = false;
    const place = this.#place();
    const quotes = this.#shown.findings.map(({ id, quote, context }) => ({ id, text: quote, context }));
    if (place === null || quotes.length === 0) {
      this.#underline(new Map());
      return;
    }
    const over = (): boolean => this.#round !== round || this.#disturbed;
    const walk = await inSlices(walkSteps(place.root, place.excluded), this.#breath, over);
    if (walk === null || over()) return;
    const answers = await this.#background.anchor(walk.text, quotes).catch(() => null);
    if (over()) return;
    if (answers === null) {
      this.#later();
      return;
    }
    this.#failures = 0;
    const pieces = new Map<string, readonly Piece[]>();
    for (const answer of inOrder(answers)) {
      const found = piecesOf(walk, answer.start, answer.end);
      if (found === null) this.#later();
      else pieces.set(answer.claimId, found);
    }
    this.#underline(pieces);
  }

  #underline(pieces: ReadonlyMap<string, readonly Piece[]>): void {
    this.#underlines.show(pieces);
    this.#changed();
  }

  #later(): void {
    clearTimeout(this.#again);
    this.#again = setTimeout(() => void this.#anchor(), retryAfterMs(this.#failures++));
  }
}

type Anchored = Extract<Anchoring, { outcome: 'anchored' }>;

/** What is anchored, in the order of the page. */
function inOrder(answers: readonly Anchoring[]): Anchored[] {
  return answers
    .filter((answer): answer is Anchored => answer.outcome === 'anchored')
    .sort((one, other) => one.start - other.start || one.end - other.end);
}
