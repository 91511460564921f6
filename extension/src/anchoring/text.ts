/**
 * What crosses from the page to the matcher: the walked text, and what only the page's structure shows about it.
 *
 * The matcher never sees the DOM. Whatever it must know of the DOM is an offset into `raw`; if a node leaked in here,
 * matching could no longer run in the background worker nor be tested without a browser.
 *
 * Shapes: every offset counts UTF-16 units of `raw`; both lists ascend.
 */
export interface WalkedText {
  readonly raw: string;
  /** Places where one block ends or another begins; a word may end there although no white space is written. */
  readonly breaks: readonly number[];
  /** Footnote markers, as `[start, end)`: the page shows them, a sentence does not consist of them. */
  readonly markers: readonly (readonly [number, number])[];
}

/** The part of a claim that locates it. */
export interface Quote {
  readonly id: string;
  readonly text: string;
  readonly context: string;
}

/**
 * Where a quote stands on the page.
 *
 * `changed`: the page says something close to it, in other words. `ambiguous`: it stands there several times and the
 * context does not decide which. `joined`: it stands there as it was, but a sign (a hyphen, a slash) ties it to what is beside
 * it, so it may no longer be the same word. Only `anchored` is ever underlined.
 */
export type Anchoring =
  | { readonly claimId: string; readonly outcome: 'anchored'; readonly start: number; readonly end: number }
  | { readonly claimId: string; readonly outcome: 'changed' | 'joined' | 'missing' | 'ambiguous' };
