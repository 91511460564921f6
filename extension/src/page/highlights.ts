/**
 * Underlines are CSS custom highlights: not a node, not an attribute, not a style of the page is touched.
 *
 * The page sees the names and can empty them, so the names are neutral, what is underlined is kept here, and
 * `restore` puts back what the page took away. The rules for the names are in `highlights.css`.
 */
import { isIntact, type Piece } from './ranges';

/** The look depends on what the text really stands on, not on what the system prefers. */
export type Tone = 'light' | 'dark';

const NAMES: Readonly<Record<Tone, string>> = { light: 'aside-day', dark: 'aside-night' };
const CURRENT = 'aside-here';

/** The part of `CSS.highlights` in use. */
export interface Registry {
  get(name: string): Highlight | undefined;
  set(name: string, highlight: Highlight): unknown;
  delete(name: string): boolean;
}

export class Underlines {
  readonly #registry: Registry;
  readonly #make: (ranges: readonly Range[]) => Highlight;
  #pieces = new Map<string, readonly Piece[]>();
  #byNode = new Map<Node, (Piece & { readonly claimId: string })[]>();
  #tone: Tone = 'light';
  #visible = true;
  #current: string | null = null;
  #painted = new Map<string, { highlight: Highlight; size: number }>();

  constructor(registry: Registry, make: (ranges: readonly Range[]) => Highlight) {
    this.#registry = registry;
    this.#make = make;
  }

  /** Underline exactly these, in this order. */
  show(pieces: ReadonlyMap<string, readonly Piece[]>): void {
    this.#pieces = new Map(pieces);
    this.#byNode = new Map();
    // The shortest first: of findings at one place, it is the one that can only be pointed at here.
    for (const [claimId, list] of [...pieces].sort(([, one], [, other]) => lengthOf(one) - lengthOf(other))) {
      for (const piece of list) {
        const here = this.#byNode.get(piece.node);
        if (here === undefined) this.#byNode.set(piece.node, [{ ...piece, claimId }]);
        else here.push({ ...piece, claimId });
      }
    }
    this.#paint();
  }

  /** Claims that are underlined, in the order given. */
  get claimIds(): readonly string[] {
    return [...this.#pieces.keys()];
  }

  piecesOf(claimId: string): readonly Piece[] {
    return this.#pieces.get(claimId) ?? [];
  }

  /** The findings that have words in `node`, the shortest first. */
  findingsIn(node: Node): readonly (Piece & { readonly claimId: string })[] {
    return this.#visible ? (this.#byNode.get(node) ?? []) : [];
  }

  setVisible(visible: boolean): void {
    this.#visible = visible;
    this.#paint();
  }

  setTone(tone: Tone): void {
    if (tone === this.#tone) return;
    this.#tone = tone;
    this.#paint();
  }

  /** Mark one finding as the one being looked at, or none. */
  setCurrent(claimId: string | null): void {
    if (claimId === this.#current) return;
    this.#current = claimId;
    this.#paint();
  }

  /** Keep only findings whose every word is still where it was on the page; true if none was dropped. */
  prune(): boolean {
    const intact = [...this.#pieces].filter(([, list]) => list.every(isIntact));
    if (intact.length === this.#pieces.size) return true;
    this.show(new Map(intact));
    return false;
  }

  /** Put back what the page cleared; true when something had to be. */
  restore(): boolean {
    for (const [name, { highlight, size }] of this.#painted) {
      if (this.#registry.get(name) !== highlight || highlight.size !== size) {
        this.#paint();
        return true;
      }
    }
    return false;
  }

  clear(): void {
    this.#pieces = new Map();
    this.#byNode = new Map();
    this.#current = null;
    this.#paint();
  }

  #paint(): void {
    for (const name of this.#painted.keys()) this.#registry.delete(name);
    this.#painted = new Map();
    if (!this.#visible) return;
    const ranges = [...this.#pieces.values()].flatMap((list) => list.map((piece) => piece.range));
    this.#set(NAMES[this.#tone], ranges);
    if (this.#current !== null)
      this.#set(
        CURRENT,
        this.piecesOf(this.#current).map((piece) => piece.range),
      );
  }

  #set(name: string, ranges: readonly Range[]): void {
    if (ranges.length === 0) return;
    const highlight = this.#make(ranges);
    this.#registry.set(name, highlight);
    this.#painted.set(name, { highlight, size: highlight.size });
  }
}

function lengthOf(pieces: readonly Piece[]): number {
  return pieces.reduce((sum, { start, end }) => sum + end - start, 0);
}

/** Underlines on the real page. */
export function pageUnderlines(): Underlines {
  return new Underlines(CSS.highlights, (ranges) => new Highlight(...ranges));
}
