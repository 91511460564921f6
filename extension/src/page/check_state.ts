/** What a card shows of a check: the messages of the check, folded. Pure. */
import type { UnreadableReason } from '../feeds/base';
import type { Ended, Out, Search } from '../verdict/check';

/** A search whose results may not be there yet. */
export interface SearchLine {
  readonly query: string;
  /** Undefined while it runs, null where it failed. */
  readonly results: Search['results'] | undefined;
}

export interface CheckState {
  readonly searches: readonly SearchLine[];
  /** The model writes its answer. */
  readonly answering: boolean;
  readonly ended: Ended | { readonly at: 'unreadable'; readonly reason: UnreadableReason } | null;
}

export const ASKING: CheckState = { searches: [], answering: false, ended: null };

export function unreadable(reason: UnreadableReason): CheckState {
  return { ...ASKING, ended: { at: 'unreadable', reason } };
}

/** The state after one more message. */
export function apply(state: CheckState, out: Out): CheckState {
  switch (out.at) {
    case 'asking':
      return { ...state, answering: out.last };
    case 'searching':
      return { ...state, searches: [...state.searches, { query: out.query, results: undefined }] };
    case 'found':
      return { ...state, searches: withResults(state.searches, out.search) };
    default:
      return { ...state, ended: out };
  }
}

function withResults(lines: readonly SearchLine[], search: Search): SearchLine[] {
  const at = lines.findIndex(({ query, results }) => results === undefined && query === search.query);
  return at === -1 ? [...lines, search] : lines.map((line, index) => (index === at ? search : line));
}
