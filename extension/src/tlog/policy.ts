/** Policies: whose signatures and cosignatures make a checkpoint valid (C2SP tlog-policy). */
import { type Bytes, decodeUtf8, fromLatin1, isEqual, malformed, parseDecimal, TlogError, toLatin1 } from './encoding';
import { COSIGNATURE, ED25519, ML_DSA_44, parseKey, type Verified, type VerifierKey, verifyNote } from './keys';
import { type Checkpoint, type Note, parseCheckpoint } from './note';

const NONE = 'none';
const MAX_POLICY_BYTES = 250_000;

export interface Log {
  readonly key: VerifierKey;
  readonly url: string | null;
}

export interface Witness extends Log {
  readonly name: string;
}

export interface Group {
  readonly name: string;
  readonly threshold: number;
  readonly members: readonly string[];
}

/** Names are octets, written as characters below U+0100. */
export interface Policy {
  readonly logs: readonly Log[];
  readonly witnesses: readonly Witness[];
  readonly groups: readonly Group[];
  readonly quorum: string;
}

/** A checkpoint that satisfies a policy, with the signatures that do it. */
export interface Valid {
  readonly checkpoint: Checkpoint;
  readonly signatures: readonly Verified[];
}

export async function parsePolicy(data: Bytes): Promise<Policy> {
  const text = toLatin1(data);
  if (/[\u0000-\u0008\u000b-\u001f\u007f]/.test(text)) throw malformed('a policy contains a control character');
  if (data.length > MAX_POLICY_BYTES || !text.endsWith('\n'))
    throw malformed('each line of a policy ends in a newline');
  const reader = new Reader();
  for (const line of text.slice(0, -1).split('\n')) {
    const words = line.split(/[ \t]+/).filter((word) => word !== '');
    if (words[0] && !words[0].startsWith('#')) await reader.read(words);
  }
  return reader.whole();
}

/** Whether the witnesses of these names in the policy are a quorum. */
export function isQuorum(policy: Policy, cosigned: ReadonlySet<string>): boolean {
  const reached = new Set([NONE, ...policy.witnesses.map(({ name }) => name).filter((name) => cosigned.has(name))]);
  for (const { name, threshold, members } of policy.groups) {
    if (members.filter((member) => reached.has(member)).length >= threshold) reached.add(name);
  }
  return reached.has(policy.quorum);
}

/** The checkpoint of a note, if the policy accepts it; throws otherwise. */
export async function verifyCheckpoint(policy: Policy, note: Note): Promise<Valid> {
  const checkpoint = parseCheckpoint(note.text);
  const logs = policy.logs.map(({ key }) => key).filter((key) => key.name === checkpoint.origin);
  const signed = await verifyNote(note, logs);
  if (signed.length === 0) throw new TlogError('signature', 'no log of the policy signed the checkpoint');
  const cosigned = await verifyNote(
    note,
    policy.witnesses.map(({ key }) => key),
  );
  const keys = new Set(cosigned.map(({ key }) => key));
  const names = policy.witnesses.filter(({ key }) => keys.has(key)).map(({ name }) => name);
  if (!isQuorum(policy, new Set(names))) throw new TlogError('quorum', 'too few witnesses cosigned the checkpoint');
  return { checkpoint, signatures: [...signed, ...cosigned] };
}

/** Whether a key signed the note for its own log that the policy does not know, as while one replaces another. */
export function hasNewKey({ logs }: Policy, { text, signatures }: Note): boolean {
  const { origin } = parseCheckpoint(text);
  return signatures.some(({ name, keyId }) => name === origin && !logs.some(({ key }) => isEqual(key.keyId, keyId)));
}

/**
 * The policy with the logs that `served` has, if a key that is new in it signed the note, too; else null. Witnesses and
 * quorum stay as they are. The note must be valid under `known`, so that only the holder of the old key can name another.
 */
export async function replaceLogs(known: Bytes, served: Bytes, note: Note): Promise<Bytes | null> {
  const lines = [...linesOf(served).filter(isLog), ...linesOf(known).filter((line) => !isLog(line))];
  const replaced = fromLatin1(lines.map((line) => `${line}\n`).join(''));
  const [old, policy] = [await parsePolicy(known), await parsePolicy(replaced)];
  const logs = policy.logs.filter(({ key }) => !old.logs.some((log) => isEqual(log.key.keyId, key.keyId)));
  const signed = await verifyNote(
    note,
    logs.map(({ key }) => key),
  );
  return signed.length === 0 ? null : replaced;
}

function linesOf(policy: Bytes): string[] {
  return toLatin1(policy).slice(0, -1).split('\n');
}

function isLog(line: string): boolean {
  return /^[ \t]*log[ \t]/.test(line);
}

/** The lines of a policy as far as they were read. */
class Reader {
  readonly #logs: Log[] = [];
  readonly #witnesses: Witness[] = [];
  readonly #groups: Group[] = [];
  readonly #defined = new Set([NONE]);
  /** Names that no group has as a member yet. */
  readonly #free = new Set<string>();
  readonly #publicKeys = { log: new Set<string>(), witness: new Set<string>() };
  #quorum: string | null = null;

  async read(words: readonly string[]): Promise<void> {
    const [kind, first, second, ...rest] = words;
    if (kind === 'log' && first !== undefined && rest.length === 0) {
      this.#logs.push({ key: await this.#key('log', first, [ED25519, ML_DSA_44]), url: second ?? null });
    } else if (kind === 'witness' && first !== undefined && second !== undefined && rest.length <= 1) {
      const key = await this.#key('witness', second, [COSIGNATURE, ML_DSA_44]);
      this.#define(first);
      this.#witnesses.push({ name: first, key, url: rest[0] ?? null });
    } else if (kind === 'group' && first !== undefined && second !== undefined && rest.length > 0) {
      this.#readGroup(first, second, rest);
    } else if (kind === 'quorum' && first !== undefined && words.length === 2 && this.#quorum === null) {
      if (!this.#defined.has(first)) throw malformed('the quorum is not defined before it is used');
      this.#quorum = first;
    } else {
      throw malformed('a line of the policy is of no known form');
    }
  }

  whole(): Policy {
    if (this.#quorum === null) throw malformed('a policy has a quorum line');
    return { logs: this.#logs, witnesses: this.#witnesses, groups: this.#groups, quorum: this.#quorum };
  }

  #readGroup(name: string, threshold: string, members: readonly string[]): void {
    for (const member of members) {
      if (!this.#free.delete(member)) throw malformed('a member is not defined before its group, or in one already');
    }
    const most = BigInt(members.length);
    const number = threshold === 'all' ? most : threshold === 'any' ? 1n : parseDecimal(threshold, most);
    if (number === 0n) throw malformed('a group has a threshold of one or more');
    this.#define(name);
    this.#groups.push({ name, threshold: Number(number), members });
  }

  async #key(role: 'log' | 'witness', vkey: string, algorithms: readonly number[]): Promise<VerifierKey> {
    const key = await parseKey(decodeUtf8(fromLatin1(vkey)));
    if (!algorithms.includes(key.algorithm)) throw malformed(`a ${role} does not sign with this algorithm`);
    const publicKey = toLatin1(key.publicKey);
    if (this.#publicKeys[role].has(publicKey)) throw malformed(`the key of a ${role} is there twice`);
    this.#publicKeys[role].add(publicKey);
    return key;
  }

  #define(name: string): void {
    if (this.#defined.has(name)) throw malformed('a name is defined already');
    this.#defined.add(name);
    this.#free.add(name);
  }
}
