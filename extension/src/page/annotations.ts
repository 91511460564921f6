/**
 * Keeps the underlines correct: anchors the current post's findings in the page as it is now.
 *
 * An answer is used only if nothing happened since it was asked for: not another post, not other findings, not a change of
 * the text. Underlines that may have slipped are anchored again, never shifted.
 */
import type { Anchoring } from '../anchoring';
import { retryAfterMs } from './decide';
import type { Underlines } from './highlights';
import { NO_FINDINGS, type Background, type DisplayedFindings } from './ports';
import { piecesOf, type Piece } from './ranges';
import type { Place } from './session';
import { runInSlices, type Yielder } from './slices';
import { walkSteps } from './walk';

export class Annotations {
  readonly #background: Pick<Background, 'anchor'>;
  readonly #underlines: Underlines;
  readonly #yielder: Yielder;
  readonly #location: () => Place | null;
  readonly #onChange: () => void;
  #displayed: DisplayedFindings = NO_FINDINGS;
  #round = 0;
  #invalidated = false;
  #failures = 0;
  #retry: ReturnType<typeof setTimeout> | undefined;

  /** `changed` is called when the findings or their underlines have changed. */
  constructor(
    background: Pick<Background, 'anchor'>,
    underlines: Underlines,
    yielder: Yielder,
    location: () => Place | null,
    changed: () => void,
  ) {
    this.#background = background;
    this.#underlines = underlines;
    this.#yielder = yielder;
    this.#location = location;
    this.#onChange = changed;
  }

  get displayed(): DisplayedFindings {
    return this.#displayed;
  }

  /** Set the findings to underline. */
  show(shown: DisplayedFindings): void {
    const same = JSON.stringify(shown.findings) === JSON.stringify(this.#displayed.findings);
    this.#displayed = shown;
    if (same) {
      this.#onChange();
      return;
    }
    this.#failures = 0;
    void this.#anchor();
  }

  /** The text may have changed: discard what is under way, and underline no other words until it is anchored again. */
  invalidate(): void {
    this.#invalidated = true;
    if (!this.#underlines.prune()) this.#onChange();
  }

  /** The page settled: check that the underlines are still correct. */
  revalidate(): void {
    if (this.#invalidated || !this.#underlines.prune()) void this.#anchor();
    else this.#underlines.restore();
  }

  /** The post moved to another element. */
  reanchor(): void {
    this.#failures = 0;
    void this.#anchor();
  }

  async #anchor(): Promise<void> {
    clearTimeout(this.#retry);
    const round = ++this.#round;
    this.#invalidated = false;
    const location = this.#location();
    const quotes = this.#displayed.findings.map(({ id, quote, context }) => ({ id, text: quote, context }));
    if (location === null || quotes.length === 0) {
      this.#underline(new Map());
      return;
    }
    const over = (): boolean => this.#round !== round || this.#invalidated;
    const walk = await runInSlices(walkSteps(location.root, location.excluded), this.#yielder, over);
    if (walk === null || over()) return;
    const answers = await this.#background.anchor(walk.text, quotes).catch(() => null);
    if (over()) return;
    if (answers === null) {
      // The underlined words may have changed by now.
      this.#underline(new Map());
      this.#retryLater();
      return;
    }
    this.#failures = 0;
    const pieces = new Map<string, readonly Piece[]>();
    for (const answer of sortAnchored(answers)) {
      const found = piecesOf(walk, answer.start, answer.end);
      if (found === null) this.#retryLater();
      else pieces.set(answer.claimId, found);
    }
    this.#underline(pieces);
  }

  #underline(pieces: ReadonlyMap<string, readonly Piece[]>): void {
    this.#underlines.show(pieces);
    this.#onChange();
  }

  #retryLater(): void {
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => void this.#anchor(), retryAfterMs(this.#failures++));
  }
}

type Anchored = Extract<Anchoring, { outcome: 'anchored' }>;

/** What is anchored, in the order of the page. */
function sortAnchored(answers: readonly Anchoring[]): Anchored[] {
  return answers
    .filter((answer): answer is Anchored => answer.outcome === 'anchored')
    .sort((one, other) => one.start - other.start || one.end - other.end);
}
