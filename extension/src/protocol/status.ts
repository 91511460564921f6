/**
 * What is known of the post in a tab: one sum type that the badge, the popup and the page all read.
 *
 * Only validated claims are findings. A candidate that still waits for its verdict is counted and nothing else of it is
 * kept, so that no part of the interface can show it by mistake.
 */
import type { Anchoring } from '../anchoring/text';
import type { ShownVersion } from '../lookup/files';

export type Provenance = 'SERVER_VERIFIED' | 'CLIENT_FALLBACK';

export type SkipReason = 'has_video' | 'word_count' | 'no_text' | 'private_or_gated' | 'unsupported_content';

export interface Source {
  readonly url: string;
  readonly title: string;
  readonly snippet: string;
}

/** A validated claim that has no id yet, since its investigation still runs. */
export interface ClaimPayload {
  readonly text: string;
  readonly context: string;
  readonly summary: string;
  /** Empty where a private look-up does not carry it. */
  readonly reasoning: string;
  readonly sources: readonly Source[];
}

export interface Claim extends ClaimPayload {
  readonly id: string;
}

/** Found in an earlier, verified version of the same post. */
export interface PriorResult {
  readonly oldClaims: readonly Claim[];
  readonly sourceInvestigationId: string;
}

/** Why there is no answer, by what can be done about it. */
export type Problem =
  | { readonly kind: 'offline' }
  | { readonly kind: 'server_down' }
  /** The reader has not allowed contact with this server. */
  | { readonly kind: 'no_permission'; readonly host: string }
  | { readonly kind: 'upgrade_required'; readonly minimumVersion: string | null }
  | { readonly kind: 'malformed_version' }
  | { readonly kind: 'too_large' }
  /** The server's answer does not fit this protocol. */
  | { readonly kind: 'bad_answer' }
  /** What the page gave cannot be sent. */
  | { readonly kind: 'bad_content' }
  /** The address answers, but not as an OpenErrata server. */
  | { readonly kind: 'not_openerrata' }
  | { readonly kind: 'unauthorized' }
  /** Somebody had the right to have the post erased; the server takes nothing of it any more. */
  | { readonly kind: 'erased' }
  /** The server's public log contradicts what the server answered. */
  | { readonly kind: 'log_contradicts' }
  | { readonly kind: 'refused' }
  /** The server has no files for private look-ups. */
  | { readonly kind: 'no_lookups' }
  /** The server shows no findings at all for now. */
  | { readonly kind: 'paused' }
  /** There are findings, and nothing that proves them. */
  | { readonly kind: 'unproven' };

export type PostState =
  /** Nothing has been answered yet. */
  | { readonly kind: 'checking' }
  | { readonly kind: 'skipped'; readonly reason: SkipReason }
  | { readonly kind: 'not_investigated'; readonly prior: PriorResult | null }
  | {
      readonly kind: 'investigating';
      readonly investigationId: string | null;
      readonly pendingCount: number;
      readonly confirmed: readonly ClaimPayload[];
      readonly prior: PriorResult | null;
      /** The last question went unanswered; what stands here is older. */
      readonly trouble: Problem | null;
      /** The reader wants it, and the server has not confirmed the start yet. */
      readonly wanted: boolean;
    }
  | {
      readonly kind: 'investigated';
      /** Null where a look-up does not say. */
      readonly provenance: Provenance | null;
      readonly claims: readonly Claim[];
      /** Servers send it only with some answers. */
      readonly investigationId: string | null;
      readonly corroborationCount: number | null;
      readonly checkedAt: string | null;
    }
  /** Private look-ups know findings of another version of this post only. */
  | { readonly kind: 'other_version'; readonly investigationId: string }
  /** The server tried and gave up. */
  | { readonly kind: 'failed' }
  /** The question itself failed. */
  | { readonly kind: 'unanswered'; readonly problem: Problem };

export type Investigating = Extract<PostState, { kind: 'investigating' }>;

export type AnchorOutcome = Anchoring['outcome'];

/** What the server's public log says of findings that are shown. */
export type LogProof =
  | { readonly kind: 'proven'; readonly index: string; readonly cosignatures: number }
  /** There is no proof, as from a server without a log. */
  | { readonly kind: 'none' };

/** A tab's post: which page session it belongs to, and its state. */
export interface TabStatus {
  /** Names one page session of one content script; a status of another session is stale. */
  readonly tabSessionId: string;
  readonly platform: string;
  readonly externalId: string;
  readonly pageUrl: string;
  /** What a private look-up is made of; null where the server was given the post. */
  readonly lookup: ShownVersion | null;
  /** Known once the server has registered what this page shows. */
  readonly postVersionId: string | null;
  readonly viewCount: number | null;
  /** Where each displayed claim stands on the page, as far as it has been looked for. */
  readonly outcomes: Readonly<Record<string, AnchorOutcome>>;
  readonly state: PostState;
  /** Of the displayed claims; null where there are none. */
  readonly proof: LogProof | null;
}

/** Claims to show on the page, and whether they are only an earlier version's. */
export interface DisplayedClaims {
  readonly claims: readonly Claim[];
  readonly interim: boolean;
  readonly investigationId: string | null;
}

/** What may be underlined in this state: findings of this version, else those of an earlier one as interim. */
export function displayedClaims(state: PostState): DisplayedClaims | null {
  switch (state.kind) {
    case 'investigated':
      return { claims: state.claims, interim: false, investigationId: state.investigationId };
    case 'not_investigated':
    case 'investigating':
      return state.prior === null
        ? null
        : { claims: state.prior.oldClaims, interim: true, investigationId: state.prior.sourceInvestigationId };
    default:
      return null;
  }
}
