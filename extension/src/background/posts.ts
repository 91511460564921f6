/**
 * The life of a post in a tab: registered, viewed, perhaps investigated, polled until it is done.
 *
 * Every answer is applied only to the session that asked for it, looked up again after each wait: in between a reader
 * may have gone elsewhere, or another tab may have learned more. Source: docs/protocol.md 5.5.
 */
import { type ObservedContent, toObservation } from '../protocol/observation';
import type { AnchorOutcome as Standing, PostState, Problem, SkipReason, TabStatus } from '../protocol/status';
import type { Confirmed, LogProofs } from './log_proofs';
import type { ServerClient } from './server_client';
import { type Round } from './polling';
import type { Clock } from './ports';
import type { Runs } from './runs';
import { runningState, priorOf, stateOf, stateOfRequest, requestedState } from './states';
import type { Tabs } from './tabs';

/** A server may not show yet for a moment what it has just been asked for. */
const GRACE_MS = 15_000;
/** A result gets its proof with the log's next note, seconds later; until then the run counts as going on. */
const PROOF_MS = 60_000;

export interface Hooks {
  /** A tab's status has changed. */
  onChange(tabId: number): void;
  /** Something runs that should be asked about now. */
  pollNow(): void;
  /** Something could not be asked now and should be asked later. */
  pollLater(): void;
}

/** Null means that all went well. */
export type SyncProblem = Problem | null;

export class Posts {
  readonly #tabs: Tabs;
  readonly #runs: Runs;
  readonly #client: ServerClient;
  readonly #proofs: LogProofs;
  readonly #clock: Clock;
  readonly #hooks: Hooks;
  /** Versions for which a request is on its way. */
  readonly #requested = new Set<string>();
  /** Since when results that tabs wait for are without a proof. */
  readonly #unproven = new Map<string, number>();

  constructor(tabs: Tabs, runs: Runs, client: ServerClient, proofs: LogProofs, clock: Clock, hooks: Hooks) {
    this.#tabs = tabs;
    this.#runs = runs;
    this.#client = client;
    this.#proofs = proofs;
    this.#clock = clock;
    this.#hooks = hooks;
  }

  /** A page shows a post. */
  async show(tabId: number, session: string, content: ObservedContent): Promise<SyncProblem> {
    const { platform, externalId, url } = content;
    if (this.#findSession(tabId, session) === null)
      await this.#begin(tabId, session, platform, externalId, url, { kind: 'checking' });
    const registered = await this.#client.request('post.registerObservedVersion', toObservation(content));
    if (!registered.ok) return this.#recordProblem(tabId, session, registered.problem);
    // The page is gone, or its reader has chosen otherwise: the post is not sent again.
    if (this.#findSession(tabId, session) === null) return null;
    const { postVersionId } = registered.value;
    await this.#change(tabId, session, { postVersionId });
    const viewed = await this.#client.request('post.recordViewAndGetStatus', { postVersionId });
    if (!viewed.ok) return this.#recordProblem(tabId, session, viewed.problem);
    if (this.#findSession(tabId, session) === null) return null;
    const run = this.#runs.get(postVersionId);
    const known = run?.outcome === 'running' ? run.investigationId : null;
    const { state, proof } = await this.#confirm(stateOf(viewed.value, known));
    const viewCount = viewed.value.viewCount ?? null;
    const resumed = state.kind === 'not_investigated' && known !== null;
    await this.#change(tabId, session, { viewCount, proof, state: resumed ? runningState(known, state.prior) : state });
    if (state.kind === 'investigated') await this.#runs.remove(postVersionId);
    if (isUnproven(state)) return { kind: 'unproven' };
    if (resumed || state.kind === 'investigating') this.#hooks.pollNow();
    else if (state.kind === 'not_investigated' && run === null && (await this.#autoInvestigates())) {
      return this.#request(tabId, session, postVersionId);
    }
    return null;
  }

  /** A page shows a post that is not checked. */
  async skip(
    tabId: number,
    session: string,
    platform: string,
    externalId: string,
    pageUrl: string,
    reason: SkipReason,
  ): Promise<void> {
    await this.#begin(tabId, session, platform, externalId, pageUrl, { kind: 'skipped', reason });
  }

  /** A page shows a post in a way that cannot be sent. */
  async markUnreadable(
    tabId: number,
    session: string,
    platform: string,
    externalId: string,
    pageUrl: string,
  ): Promise<void> {
    const problem: Problem = { kind: 'bad_content' };
    await this.#begin(tabId, session, platform, externalId, pageUrl, { kind: 'unanswered', problem });
  }

  /** A page no longer shows this session's post. */
  async end(tabId: number, session: string): Promise<void> {
    if (this.#findSession(tabId, session) !== null) await this.discard(tabId);
  }

  /** Discard a tab's status. */
  async discard(tabId: number): Promise<void> {
    if (this.#tabs.get(tabId) === null) return;
    await this.#tabs.remove(tabId);
    this.#hooks.onChange(tabId);
  }

  /** The reader wants an investigation; false means that the page has to be registered first. */
  async investigate(tabId: number): Promise<boolean> {
    const status = this.#tabs.get(tabId);
    if (status?.postVersionId == null) return false;
    if (status.state.kind === 'investigating') return true;
    await this.#request(tabId, status.tabSessionId, status.postVersionId);
    return true;
  }

  /** Where claims were found on the page. */
  async recordOutcomes(tabId: number, outcomes: Readonly<Record<string, Standing>>): Promise<void> {
    const status = this.#tabs.get(tabId);
    if (status !== null) await this.#tabs.put(tabId, { ...status, outcomes });
  }

  /** Ask once about each investigation that some tab waits for. */
  async poll(): Promise<Round> {
    const waiting = new Map<string, string | null>();
    const unasked = new Map<string, readonly [number, string]>();
    for (const [tabId, { state, postVersionId, tabSessionId }] of this.#tabs.all()) {
      if (isWanted(state) && postVersionId !== null) unasked.set(postVersionId, [tabId, tabSessionId]);
      else if (state.kind === 'investigating' && state.investigationId !== null)
        waiting.set(state.investigationId, postVersionId);
    }
    const found = await Promise.all([...waiting].map(([id, version]) => this.#pollOne(id, version)));
    await Promise.all([...unasked].map(([version, [tabId, session]]) => this.#request(tabId, session, version)));
    const left = this.#tabs.all().map(([, { state }]) => state);
    if (left.some(isWanted)) return 'trouble';
    if (!left.some((state) => state.kind === 'investigating' && state.investigationId !== null)) return 'idle';
    return found.includes(false) ? 'trouble' : 'answered';
  }

  async #pollOne(investigationId: string, postVersionId: string | null): Promise<boolean> {
    const asked = await this.#client.request('post.getInvestigation', { investigationId });
    if (!asked.ok) {
      await this.#updateRun(investigationId, (state) =>
        isPermanent(asked.problem)
          ? { kind: 'unanswered', problem: asked.problem }
          : { ...state, trouble: asked.problem },
      );
      return false;
    }
    const run = postVersionId === null ? null : this.#runs.get(postVersionId);
    const early = run !== null && this.#clock.now() - run.since < GRACE_MS;
    const answered = stateOf(asked.value, investigationId);
    if (answered.kind === 'not_investigated' && early) return true;
    const { state: answer, proof } = await this.#confirm(answered);
    if (isUnproven(answer)) {
      const since = this.#unproven.get(investigationId) ?? this.#clock.now();
      this.#unproven.set(investigationId, since);
      if (this.#clock.now() - since < PROOF_MS) return true;
    }
    this.#unproven.delete(investigationId);
    const viewCount = 'viewCount' in asked.value ? asked.value.viewCount : undefined;
    await this.#updateRun(investigationId, () => answer, { proof, ...(viewCount !== undefined && { viewCount }) });
    if (postVersionId !== null && answer.kind === 'failed')
      await this.#runs.put(postVersionId, investigationId, 'failed');
    else if (postVersionId !== null && answer.kind !== 'investigating') await this.#runs.remove(postVersionId);
    return true;
  }

  async #updateRun(
    investigationId: string,
    next: (state: Extract<PostState, { kind: 'investigating' }>) => PostState,
    more: Partial<Pick<TabStatus, 'viewCount' | 'proof'>> = {},
  ): Promise<void> {
    for (const [tabId, status] of this.#tabs.all()) {
      if (status.state.kind !== 'investigating' || status.state.investigationId !== investigationId) continue;
      await this.#change(tabId, status.tabSessionId, { ...more, state: next(status.state) });
    }
  }

  /** Ask for an investigation. What may pass is asked again with the next round; what is known stays on display. */
  async #request(tabId: number, session: string, postVersionId: string): Promise<SyncProblem> {
    if (this.#requested.has(postVersionId)) return null;
    this.#requested.add(postVersionId);
    try {
      return await this.#requestOnce(tabId, session, postVersionId);
    } finally {
      this.#requested.delete(postVersionId);
    }
  }

  async #requestOnce(tabId: number, session: string, postVersionId: string): Promise<SyncProblem> {
    const known = this.#findSession(tabId, session)?.state ?? null;
    const prior = known === null ? null : priorOf(known);
    if (known !== null && !isWanted(known)) await this.#change(tabId, session, { state: requestedState(prior) });
    const asked = await this.#client.request('post.investigateNow', { postVersionId });
    if (!asked.ok && !isPermanent(asked.problem)) {
      await this.#change(tabId, session, { state: requestedState(prior, asked.problem) });
      this.#hooks.pollLater();
      return null;
    }
    if (!asked.ok) return this.#recordProblem(tabId, session, asked.problem);
    const { investigationId, status: outcome } = asked.value;
    if (outcome === 'COMPLETE') await this.#runs.remove(postVersionId);
    else await this.#runs.put(postVersionId, investigationId, outcome === 'FAILED' ? 'failed' : 'running');
    const done = outcome === 'COMPLETE' ? await this.#confirm(stateOfRequest(asked.value, null)) : null;
    for (const [other, status] of this.#tabs.all()) {
      if (status.postVersionId !== postVersionId || status.state.kind === 'investigated') continue;
      const changes = done ?? { state: stateOfRequest(asked.value, priorOf(status.state)) };
      await this.#change(other, status.tabSessionId, changes);
    }
    if (outcome === 'PENDING' || outcome === 'PROCESSING') this.#hooks.pollNow();
    return null;
  }

  async #confirm(state: PostState): Promise<Confirmed> {
    return this.#proofs.confirm(
      state,
      this.#tabs.all().map(([, status]) => status),
    );
  }

  async #autoInvestigates(): Promise<boolean> {
    const { autoInvestigate, openaiApiKey } = await this.#client.settings();
    return autoInvestigate && openaiApiKey !== '';
  }

  async #begin(
    tabId: number,
    tabSessionId: string,
    platform: string,
    externalId: string,
    pageUrl: string,
    state: PostState,
  ): Promise<void> {
    const nothing = { lookup: null, postVersionId: null, viewCount: null, outcomes: {}, proof: null };
    await this.#tabs.put(tabId, { tabSessionId, platform, externalId, pageUrl, ...nothing, state });
    this.#hooks.onChange(tabId);
  }

  async #recordProblem(tabId: number, session: string, problem: Problem): Promise<SyncProblem> {
    await this.#change(tabId, session, { state: { kind: 'unanswered', problem } });
    return problem;
  }

  async #change(
    tabId: number,
    session: string,
    changes: Partial<Pick<TabStatus, 'state' | 'postVersionId' | 'viewCount' | 'proof'>>,
  ): Promise<void> {
    const status = this.#findSession(tabId, session);
    if (status === null) return;
    await this.#tabs.put(tabId, { ...status, ...changes });
    if (changes.state !== undefined) this.#hooks.onChange(tabId);
  }

  #findSession(tabId: number, session: string): TabStatus | null {
    const status = this.#tabs.get(tabId);
    return status?.tabSessionId === session ? status : null;
  }
}

function isUnproven(state: PostState): boolean {
  return state.kind === 'unanswered' && state.problem.kind === 'unproven';
}

function isWanted(state: PostState): boolean {
  return state.kind === 'investigating' && state.wanted;
}

/** Whether asking again cannot help until something else changes. */
function isPermanent(problem: Problem): boolean {
  return !['offline', 'server_down', 'no_permission'].includes(problem.kind);
}
