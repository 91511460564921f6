/**
 * Asks the server's decision log for the proof of what is about to be shown, once for each result.
 *
 * A private look-up brings its proofs along; then only what they prove is shown. The same holds for a full reader if a
 * log is known or the server names the policy of one; without a log, findings are shown that nothing confirms.
 *
 * The policy and the largest tree of a server are remembered: a server that later shows another history contradicts
 * them. An answer that is not a proof counts as none, since a server could as well not answer; a wrong proof counts as a
 * contradiction. Source: row TR-18 of docs/requirements/trust.md.
 */
import { displayedClaims, type LogProof, type PostState } from '../protocol/status';
import { confirmFindings, type Decision, openFindings, proveDecision } from '../tlog/decision';
import { type Bytes, fromLatin1, TlogError, toLatin1 } from '../tlog/encoding';
import { canVerify } from '../tlog/keys';
import { hasNewKey, parsePolicy, replaceLogs } from '../tlog/policy';
import { isProof } from '../tlog/proof';
import type { Area, Clock } from './ports';
import type { ServerClient } from './server_client';

const KEY = 'log:';
/** An older tree within this time is another copy of the server, which has not read the newest note yet. */
const STALE_MS = 10_000;

/** What is remembered of a server's log. Shapes: `size` is decimal, `root` and `policy` are Latin-1. */
interface Known {
  readonly policy: string;
  readonly origin: string;
  readonly size: string;
  readonly root: string;
  /** Units: milliseconds since 1970. */
  readonly seen: number;
}

/** The findings of a version as a private look-up has them. */
export interface Looked {
  readonly investigation: string;
  readonly contentHash: string;
  /** The proof as the log gives it. */
  readonly proof: string;
}

/** A state that may be shown, and what the log says of its findings. */
export interface Confirmed {
  readonly state: PostState;
  readonly proof: LogProof | null;
}

const CONTRADICTED: Confirmed = { state: { kind: 'unanswered', problem: { kind: 'log_contradicts' } }, proof: null };
const UNPROVEN: Confirmed = { state: { kind: 'unanswered', problem: { kind: 'unproven' } }, proof: null };

export class LogProofs {
  readonly #area: Area;
  readonly #memory: Area;
  readonly #client: ServerClient;
  readonly #clock: Clock;

  /** `memory` ends with the browser. */
  constructor(area: Area, memory: Area, client: ServerClient, clock: Clock) {
    this.#area = area;
    this.#memory = memory;
    this.#client = client;
    this.#clock = clock;
  }

  /** Confirm the findings of a state; `shown` are confirmed already. A state that the log contradicts is replaced. */
  async confirm(state: PostState, shown: readonly Partial<Confirmed>[]): Promise<Confirmed> {
    const displayed = displayedClaims(state);
    if (displayed === null || displayed.claims.length === 0) return { state, proof: null };
    if (displayed.investigationId === null) return this.#unproven(state);
    const same = JSON.stringify([displayed.investigationId, displayed.claims]);
    for (const other of shown) {
      const known = other.proof == null || other.state === undefined ? null : displayedClaims(other.state);
      if (known !== null && JSON.stringify([known.investigationId, known.claims]) === same)
        return { state, proof: other.proof! };
    }
    const proof = await this.#prove(displayed.investigationId, displayed.claims);
    if (proof === 'wrong') return CONTRADICTED;
    return proof === null ? this.#unproven(state) : { state, proof };
  }

  /** Read the policy before it is needed, so that reading it says nothing of what was found; whether there is a log. */
  async prepare(): Promise<boolean> {
    const key = await this.#key();
    const known = { ...(await this.#memory.get([key])), ...(await this.#area.get([key])) };
    if (known[key] !== undefined) return true;
    const policy = await this.#client.readLog('policy');
    // If the browser has no room for it, the server is asked again.
    if (policy !== null) await this.#memory.set({ [key]: toLatin1(policy) }).catch(() => undefined);
    return policy !== null;
  }

  /** The findings that a look-up's proof carries, and nothing of what it does not prove. */
  async open({ investigation, contentHash, proof }: Looked): Promise<Confirmed> {
    if (!(await canVerify())) return UNPROVEN;
    const data = new TextEncoder().encode(proof);
    const proven = await this.#verify(data, 'any', (decision) => openFindings(decision, investigation, contentHash));
    if (proven === 'wrong') return CONTRADICTED;
    if (proven === null || proven.checked.claims.length === 0) return UNPROVEN;
    const more = { investigationId: investigation, corroborationCount: null, checkedAt: null };
    return { state: { kind: 'investigated', ...proven.checked, ...more }, proof: proven.proof };
  }

  /** Forget what is remembered of all logs. */
  async forget(): Promise<void> {
    const keys = Object.keys(await this.#area.get(null)).filter((key) => key.startsWith(KEY));
    await this.#area.remove(keys);
  }

  /** What is shown of findings without a proof: nothing, if there is a log that should hold the proof. */
  async #unproven(state: PostState): Promise<Confirmed> {
    if (!(await this.prepare())) return { state, proof: { kind: 'none' } };
    // Findings of an earlier version do not answer for this one, whose run goes on.
    return 'prior' in state ? { state: { ...state, prior: null }, proof: null } : UNPROVEN;
  }

  async #prove(
    investigationId: string,
    claims: Parameters<typeof confirmFindings>[2],
  ): Promise<LogProof | 'wrong' | null> {
    if (!(await canVerify())) return null;
    const data = await this.#client.readLog(`proof/${encodeURIComponent(investigationId)}`);
    if (data === null || !isProof(data)) return null;
    const proven = await this.#verify(data, 'newest', (decision) => confirmFindings(decision, investigationId, claims));
    return proven === null || proven === 'wrong' ? proven : proven.proof;
  }

  /**
   * Verify a proof and let `check` look at its decision; null where there is nothing to look at. `any`: it may be of a
   * tree that was the newest long ago.
   */
  async #verify<T>(
    data: Bytes,
    tree: 'newest' | 'any',
    check: (decision: Decision) => T | Promise<T>,
  ): Promise<{ readonly proof: LogProof; readonly checked: T } | 'wrong' | null> {
    const key = await this.#key();
    const known = (await this.#area.get([key]))[key] as Known | undefined;
    const policy = known === undefined ? await this.#policy(key) : fromLatin1(known.policy);
    if (policy === null) return null;
    try {
      const decision = await proveDecision(data, await parsePolicy(policy));
      const older = known !== undefined && isOlder(decision, known);
      if (older && tree === 'newest' && this.#clock.now() - known.seen < STALE_MS) return null;
      if (known !== undefined && !(older && tree === 'any')) checkHistory(decision, known);
      // A failed run can be repeated under the same id, and erased documents cannot be compared: neither is about these findings.
      if (decision.documents.size === 0 || !['found', 'nothing_found'].includes(decision.kind)) return null;
      const checked = await check(decision);
      if (!older) await this.#area.set({ [key]: this.#remember(decision, await this.#follow(policy, decision)) });
      const { index, cosignatures } = decision;
      return { proof: { kind: 'proven', index: index.toString(), cosignatures }, checked };
    } catch (error) {
      if (!(error instanceof TlogError)) throw error;
      await this.#memory.remove(key);
      return 'wrong';
    }
  }

  async #key(): Promise<string> {
    return KEY + (await this.#client.address()).baseUrl;
  }

  /** The policy of a server whose log is not known yet: as read since the browser began, else from the server. */
  async #policy(key: string): Promise<Bytes | null> {
    const read = (await this.#memory.get([key]))[key] as string | undefined;
    return read === undefined ? this.#client.readLog('policy') : fromLatin1(read);
  }

  /** The policy with new keys of its log, if a proof says that there are any. */
  async #follow(policy: Bytes, { note }: Decision): Promise<Bytes> {
    if (!hasNewKey(await parsePolicy(policy), note)) return policy;
    const served = await this.#client.readLog('policy');
    try {
      return (served && (await replaceLogs(policy, served, note))) ?? policy;
    } catch (error) {
      if (error instanceof TlogError) return policy;
      throw error;
    }
  }

  #remember({ checkpoint: { origin, size, root } }: Decision, policy: Bytes): Known {
    return { policy: toLatin1(policy), origin, size: size.toString(), root: toLatin1(root), seen: this.#clock.now() };
  }
}

function isOlder({ checkpoint }: Decision, { origin, size }: Known): boolean {
  return checkpoint.origin === origin && checkpoint.size < BigInt(size);
}

/** A log does not shrink, and there is one root of a size. */
function checkHistory({ checkpoint }: Decision, { origin, size, root }: Known): void {
  if (checkpoint.origin !== origin) return;
  if (checkpoint.size < BigInt(size)) throw new TlogError('proof', 'the log is smaller than it was');
  if (checkpoint.size === BigInt(size) && toLatin1(checkpoint.root) !== root)
    throw new TlogError('proof', 'the log has another root of this size');
}
