/**
 * Anchoring as a whole: a walked page and its claims in, one outcome per claim out. Pure, and the only entrance.
 *
 * A footnote marker may have been part of the text that was checked, or not, and may have been renumbered since: a page
 * is read first with its markers and then without. The quote's own markers are taken out only in that second reading and
 * only where brackets make them plain, so that `a[0]` never equals `a[1]` in running text.
 */
import { fold, foldString, type Folded } from './fold';
import { match, type Match } from './match';
import { resembles, buildWordTable, type WordTable } from './nearby';
import type { Anchoring, Quote, WalkedText } from './text';

export type { Anchoring, Quote, WalkedText } from './text';

const BRACKETED_MARKER = /(?<=\S)\[(?:\d{1,3}|[a-z]|(?:note|nb) \d{1,3})\]/g;

/** Find where each claim stands on the page, in the order given. */
export function anchorClaims(page: WalkedText, claims: readonly Quote[]): Anchoring[] {
  const readings = new Readings(page);
  return claims.map((claim) => anchor(readings, claim));
}

function anchor(page: Readings, claim: Quote): Anchoring {
  const asShown = match(page.withMarkers, claim);
  if (asShown.kind === 'unique') return toAnchored(claim, page.withMarkers, asShown);
  let bare: Match = { kind: 'none' };
  if (asShown.kind !== 'several' && page.withoutMarkers !== null) {
    bare = match(page.withoutMarkers, { text: stripMarkers(claim.text), context: stripMarkers(claim.context) });
    if (bare.kind === 'unique') return toAnchored(claim, page.withoutMarkers, bare);
  }
  if (asShown.kind === 'several' || bare.kind === 'several') return { claimId: claim.id, outcome: 'ambiguous' };
  if (asShown.kind === 'joined' || bare.kind === 'joined') return { claimId: claim.id, outcome: 'joined' };
  const near =
    asShown.kind === 'near' || bare.kind === 'near' || resembles(page.withMarkers, page.words, foldString(claim.text));
  return { claimId: claim.id, outcome: near ? 'changed' : 'missing' };
}

function toAnchored(claim: Quote, page: Folded, { at, length }: Extract<Match, { kind: 'unique' }>): Anchoring {
  return { claimId: claim.id, outcome: 'anchored', start: page.from[at]!, end: page.till[at + length - 1]! };
}

function stripMarkers(text: string): string {
  return text.replace(BRACKETED_MARKER, '');
}

/** The page folded in both ways and its word table, each made when first needed. */
class Readings {
  readonly withMarkers: Folded;
  readonly #page: WalkedText;
  #withoutMarkers: Folded | undefined;
  #words: WordTable | undefined;

  constructor(page: WalkedText) {
    this.#page = page;
    this.withMarkers = fold(page);
  }

  get withoutMarkers(): Folded | null {
    if (this.#page.markers.length === 0) return null;
    return (this.#withoutMarkers ??= fold(this.#page, this.#page.markers));
  }

  get words(): WordTable {
    return (this.#words ??= buildWordTable(this.withMarkers));
  }
}
