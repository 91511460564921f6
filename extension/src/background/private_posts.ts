/**
 * The life of a post in a tab whose reader does not give it to the server: looked up in its bucket, and again while the
 * page is open.
 *
 * Nothing is sent that identifies the post, and all that is shown was in the bucket. An answer is applied only to
 * the session that it was asked for. Source: rows TR-21 to TR-25 of docs/requirements/trust.md.
 */
import { findVersion, hashText, keyOf, type Match, type ShownVersion } from '../lookup/files';
import type { ObservedContent } from '../protocol/observation';
import type { PostState, Problem, TabStatus } from '../protocol/status';
import type { Confirmed, LogProofs } from './log_proofs';
import type { LookupFiles } from './lookup_files';
import type { SyncProblem } from './posts';
import type { Tabs } from './tabs';

export class PrivatePosts {
  readonly #tabs: Tabs;
  readonly #files: LookupFiles;
  readonly #proofs: LogProofs;
  readonly #onChange: (tabId: number) => void;

  constructor(tabs: Tabs, files: LookupFiles, proofs: LogProofs, onChange: (tabId: number) => void) {
    this.#tabs = tabs;
    this.#files = files;
    this.#proofs = proofs;
    this.#onChange = onChange;
  }

  /** Whether some tab shows a post that is looked up privately. */
  get any(): boolean {
    return this.#tabs.all().some(([, { lookup }]) => lookup != null);
  }

  /** A page shows a post. */
  async show(tabId: number, tabSessionId: string, content: ObservedContent): Promise<SyncProblem> {
    const { platform, externalId, url: pageUrl } = content;
    const lookup = await versionOf(content);
    const nothing = { postVersionId: null, viewCount: null, outcomes: {}, proof: null };
    const begun: TabStatus = {
      tabSessionId,
      platform,
      externalId,
      pageUrl,
      lookup,
      ...nothing,
      state: { kind: 'checking' },
    };
    const known = this.#tabs.get(tabId);
    if (known?.tabSessionId !== tabSessionId) await this.#put(tabId, begun);
    const found = await this.#lookUp(lookup);
    await this.#apply(tabId, tabSessionId, found.confirmed);
    return found.problem;
  }

  /** Look again for what the open pages show. What cannot be asked stays as it is. */
  async refresh(): Promise<void> {
    for (const [tabId, { lookup, tabSessionId }] of this.#tabs.all()) {
      if (lookup == null) continue;
      const { confirmed, problem } = await this.#lookUp(lookup);
      if (problem === null || problem.kind === 'paused') await this.#apply(tabId, tabSessionId, confirmed);
    }
  }

  async #lookUp(shown: ShownVersion): Promise<{ confirmed: Confirmed; problem: SyncProblem }> {
    await this.#proofs.prepare();
    const bucket = await this.#files.bucketOf(shown.key);
    if (!bucket.ok) return { confirmed: without(unanswered(bucket.problem)), problem: bucket.problem };
    const match = await findVersion(bucket.value, shown);
    if (match.kind === 'version') return { confirmed: await this.#proofs.open(match.version), problem: null };
    return { confirmed: without(stateOf(match)), problem: null };
  }

  async #apply(tabId: number, session: string, { state, proof }: Confirmed): Promise<void> {
    const status = this.#tabs.get(tabId);
    // Meanwhile the reader may have given the post to the server.
    if (status?.tabSessionId !== session || status.lookup === null) return;
    if (JSON.stringify([state, proof]) === JSON.stringify([status.state, status.proof])) return;
    await this.#put(tabId, { ...status, state, proof });
  }

  async #put(tabId: number, status: TabStatus): Promise<void> {
    await this.#tabs.put(tabId, status);
    this.#onChange(tabId);
  }
}

async function versionOf({ platform, externalId, contentText, metadata }: ObservedContent): Promise<ShownVersion> {
  const revision = (metadata as { readonly revisionId?: unknown }).revisionId;
  return {
    key: await keyOf(platform, externalId),
    contentHash: await hashText(contentText),
    revision: typeof revision === 'string' ? revision : null,
  };
}

function stateOf(match: Exclude<Match, { kind: 'version' }>): PostState {
  switch (match.kind) {
    case 'clear':
      return {
        kind: 'investigated',
        provenance: null,
        claims: [],
        investigationId: null,
        corroborationCount: null,
        checkedAt: null,
      };
    case 'other':
      return { kind: 'other_version', investigationId: match.version.investigation };
    case 'unknown':
      return { kind: 'not_investigated', prior: null };
  }
}

function unanswered(problem: Problem): PostState {
  return { kind: 'unanswered', problem };
}

/** No findings, so nothing to prove. */
function without(state: PostState): Confirmed {
  return { state, proof: null };
}
