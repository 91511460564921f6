/**
 * What the popup shows, as one sum type. Pure. Source: requirements 2.5, docs/protocol.md 5.6.
 *
 * A candidate that waits for its verdict is a number here; there is no place in a view that could hold its words.
 */
import { SITES } from '../../platforms';
import type { CachedStatus } from '../../protocol/messages';
import type { Claim, AnchorOutcome, PostState, PriorResult, Problem, SkipReason } from '../../protocol/status';
import { readingMode, type Settings } from '../../settings/settings';
import { hostOf, isBuiltIn, siteOf, sitesToSwitchOn } from '../../settings/sites';

export interface ListedClaim {
  readonly id: string;
  readonly summary: string;
  /** The sentence, and why it is wrong, in Markdown: read here where the page shows no place for it. */
  readonly quote: string;
  readonly reasoning: string;
  /** Undefined until it was searched on the page. */
  readonly outcome: AnchorOutcome | undefined;
}

/** What was found in an earlier version, and which investigation found it. */
export interface Interim {
  readonly claims: readonly ListedClaim[];
  readonly investigationId: string | null;
}

export type PopupView =
  | { readonly kind: 'upgrade'; readonly minimumVersion: string | null }
  | { readonly kind: 'unsupported' }
  /** A site's publication on its own domain, or a site that is off at first: not yet allowed. */
  | { readonly kind: 'addable'; readonly host: string; readonly site: string; readonly isOwnDomain: boolean }
  | { readonly kind: 'off'; readonly site: string }
  /** The reader has not said how posts are looked up. */
  | { readonly kind: 'unchosen' }
  | { readonly kind: 'checking' }
  | { readonly kind: 'skipped'; readonly reason: SkipReason }
  | { readonly kind: 'found'; readonly claims: readonly ListedClaim[]; readonly investigationId: string | null }
  | { readonly kind: 'clean'; readonly investigationId: string | null }
  | { readonly kind: 'other_version'; readonly investigationId: string; readonly mayInvestigate: boolean }
  | { readonly kind: 'failed'; readonly mayInvestigate: boolean }
  | { readonly kind: 'unanswered'; readonly problem: Problem }
  | {
      readonly kind: 'investigating';
      /** Wanted, and not begun yet. */
      readonly starting: boolean;
      readonly found: number;
      readonly confirmed: readonly string[];
      readonly interim: Interim;
      readonly trouble: Problem | null;
    }
  | {
      readonly kind: 'not_investigated';
      /** Null also for no views: the reader of that line is a viewer. */
      readonly viewCount: number | null;
      readonly mayInvestigate: boolean;
      readonly interim: Interim;
    };

export interface PopupInput {
  readonly cached: CachedStatus;
  /** Null where the browser withholds it. */
  readonly url: string | null;
  readonly settings: Settings;
  /** The display name of the site whose marks a page of another domain shows. */
  readonly markedSite: string | null;
}

/** Decide what to show. */
export function viewOf({ cached, url, settings, markedSite }: PopupInput): PopupView {
  if (cached.upgrade !== null) return { kind: 'upgrade', minimumVersion: cached.upgrade.minimumVersion };
  const name = url === null ? null : siteOf(url);
  if (name !== null && settings.sitesOff.includes(name)) return { kind: 'off', site: name };
  const { status } = cached;
  if (status !== null) {
    return viewOfState(
      status.state,
      status.outcomes,
      status.viewCount,
      settings.apiKey !== '' || settings.openaiApiKey !== '',
    );
  }
  const host = url === null ? null : hostOf(url);
  if (url === null || host === null) return { kind: 'unsupported' };
  const isAdded = settings.sitesAdded.includes(host);
  if (!isBuiltIn(url) && !isAdded) {
    const waiting = sitesToSwitchOn(settings.sitesAdded).find(({ domains }) => domains[0] === host);
    const site = waiting?.displayName ?? markedSite;
    return site === null
      ? { kind: 'unsupported' }
      : { kind: 'addable', host, site, isOwnDomain: waiting === undefined };
  }
  if (readingMode(settings) === null) return { kind: 'unchosen' };
  const address = new URL(url);
  const site = SITES.find((one) => one.matchesUrl(address));
  if (site === undefined) return { kind: isAdded && mayBePost(url) ? 'checking' : 'unsupported' };
  // Without a post in its address a page never sends anything, so no status will come.
  return site.guess(address) === null ? { kind: 'skipped', reason: 'unsupported_content' } : { kind: 'checking' };
}

/** Whether a page can be a post of a publication with a domain of its own. */
export function mayBePost(url: string): boolean {
  const address = new URL(url);
  return address.protocol === 'https:' && SITES.some(({ customDomain }) => customDomain?.isPost(address));
}

function viewOfState(
  state: PostState,
  outcomes: Readonly<Record<string, AnchorOutcome>>,
  viewCount: number | null,
  mayInvestigate: boolean,
): PopupView {
  // Each id once, since ids identify findings.
  const listed = (claims: readonly Claim[]): ListedClaim[] =>
    [...new Map(claims.map((claim) => [claim.id, claim])).values()].map(({ id, summary, text, reasoning }) => ({
      id,
      summary,
      quote: text,
      reasoning,
      outcome: Object.hasOwn(outcomes, id) ? outcomes[id] : undefined,
    }));
  const interim = (prior: PriorResult | null): Interim => ({
    claims: listed(prior?.oldClaims ?? []),
    investigationId: prior?.sourceInvestigationId ?? null,
  });
  switch (state.kind) {
    case 'checking':
      return { kind: 'checking' };
    case 'skipped':
      return { kind: 'skipped', reason: state.reason };
    case 'other_version':
      return { ...state, mayInvestigate };
    case 'failed':
      return { kind: 'failed', mayInvestigate };
    case 'unanswered':
      return state.problem.kind === 'upgrade_required'
        ? { kind: 'upgrade', minimumVersion: state.problem.minimumVersion }
        : { kind: 'unanswered', problem: state.problem };
    case 'investigated':
      return state.claims.length === 0
        ? { kind: 'clean', investigationId: state.investigationId }
        : { kind: 'found', claims: listed(state.claims), investigationId: state.investigationId };
    case 'investigating':
      return {
        kind: 'investigating',
        starting: state.wanted,
        found: state.pendingCount + state.confirmed.length,
        confirmed: state.confirmed.map(({ summary }) => summary),
        interim: interim(state.prior),
        trouble: state.trouble,
      };
    case 'not_investigated':
      return {
        kind: 'not_investigated',
        viewCount: viewCount === 0 ? null : viewCount,
        mayInvestigate,
        interim: interim(state.prior),
      };
  }
}
