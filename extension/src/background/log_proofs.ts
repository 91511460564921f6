/**
 * Asks the server's decision log for the proof of what is about to be shown, once for each result.
 *
 * The policy and the largest tree of a server are remembered: whoever shows a reader another history later contradicts
 * them. An answer that is no proof counts as none, since a server could as well not answer; a proof that is wrong counts
 * as a contradiction. Source: row TR-18 of docs/requirements/trust.md.
 */
import { displayedClaims, type LogProof, type PostState } from '../protocol/status';
import { serverAddress } from '../settings/address';
import { confirmFindings, type Decision, proveDecision } from '../tlog/decision';
import { type Bytes, fromLatin1, TlogError, toLatin1 } from '../tlog/encoding';
import { canVerify } from '../tlog/keys';
import { parsePolicy } from '../tlog/policy';
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

/** A state that may be shown, and what the log says of its findings. */
export interface Confirmed {
  readonly state: PostState;
  readonly proof: LogProof | null;
}

export class LogProofs {
  readonly #area: Area;
  readonly #client: ServerClient;
  readonly #clock: Clock;

  constructor(area: Area, client: ServerClient, clock: Clock) {
    this.#area = area;
    this.#client = client;
    this.#clock = clock;
  }

  /** Confirm the findings of a state; `shown` are confirmed already. A state that the log contradicts is replaced. */
  async confirm(state: PostState, shown: readonly Partial<Confirmed>[]): Promise<Confirmed> {
    const displayed = displayedClaims(state);
    if (displayed === null || displayed.claims.length === 0) return { state, proof: null };
    if (displayed.investigationId === null) return { state, proof: { kind: 'none' } };
    const same = JSON.stringify([displayed.investigationId, displayed.claims]);
    for (const other of shown) {
      const known = other.proof == null || other.state === undefined ? null : displayedClaims(other.state);
      if (known !== null && JSON.stringify([known.investigationId, known.claims]) === same)
        return { state, proof: other.proof! };
    }
    const proof = await this.#prove(displayed.investigationId, displayed.claims);
    return proof === 'wrong'
      ? { state: { kind: 'unanswered', problem: { kind: 'log_contradicts' } }, proof: null }
      : { state, proof };
  }

  /** Forget what is remembered of all logs. */
  async forget(): Promise<void> {
    const keys = Object.keys(await this.#area.get(null)).filter((key) => key.startsWith(KEY));
    await this.#area.remove(keys);
  }

  async #prove(investigationId: string, claims: Parameters<typeof confirmFindings>[2]): Promise<LogProof | 'wrong'> {
    if (!(await canVerify())) return { kind: 'none' };
    const key = KEY + serverAddress((await this.#client.settings()).apiBaseUrl).baseUrl;
    const data = await this.#client.readLog(`proof/${encodeURIComponent(investigationId)}`);
    if (data === null || !isProof(data)) return { kind: 'none' };
    const known = (await this.#area.get([key]))[key] as Known | undefined;
    const policy = known === undefined ? await this.#client.readLog('policy') : fromLatin1(known.policy);
    if (policy === null) return { kind: 'none' };
    try {
      const decision = await proveDecision(data, await parsePolicy(policy));
      if (known !== undefined && this.#isStale(decision, known)) return { kind: 'none' };
      if (known !== undefined) checkHistory(decision, known);
      // A failed run can be repeated under its name, and what was erased cannot be compared: neither speaks of these.
      if (decision.documents.size === 0 || !['found', 'nothing_found'].includes(decision.kind)) return { kind: 'none' };
      await confirmFindings(decision, investigationId, claims);
      await this.#area.set({ [key]: this.#remember(decision, policy) });
      return { kind: 'proven', index: decision.index.toString(), cosignatures: decision.cosignatures };
    } catch (error) {
      if (error instanceof TlogError) return 'wrong';
      throw error;
    }
  }

  #isStale({ checkpoint }: Decision, { origin, size, seen }: Known): boolean {
    return checkpoint.origin === origin && checkpoint.size < BigInt(size) && this.#clock.now() - seen < STALE_MS;
  }

  #remember({ checkpoint: { origin, size, root } }: Decision, policy: Bytes): Known {
    return { policy: toLatin1(policy), origin, size: size.toString(), root: toLatin1(root), seen: this.#clock.now() };
  }
}

/** A log does not shrink, and there is one root of a size. */
function checkHistory({ checkpoint }: Decision, { origin, size, root }: Known): void {
  if (checkpoint.origin !== origin) return;
  if (checkpoint.size < BigInt(size)) throw new TlogError('proof', 'the log is smaller than it was');
  if (checkpoint.size === BigInt(size) && toLatin1(checkpoint.root) !== root)
    throw new TlogError('proof', 'the log has another root of this size');
}
