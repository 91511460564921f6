/** Proofs that an entry is in a log, which are checked without asking anybody (C2SP tlog-proof). */
import { type Bytes, decodeBase64, decodeHash, malformed, parseDecimal, splitAtBlank, toLatin1 } from './encoding';
import { verifyInclusion } from './merkle';
import { type Note, parseCheckpoint, parseNote } from './note';
import { type Policy, type Valid, verifyCheckpoint } from './policy';

const HEADER = 'c2sp.org/tlog-proof@v1';
const MAX_HASHES = 63;
const MAX_PROOF_BYTES = 2_000_000;

/** The entry at `index` is in the log that signed `note`. `extra` is not authenticated by any of this. */
export interface Proof {
  readonly index: bigint;
  readonly hashes: readonly Bytes[];
  readonly note: Note;
  readonly extra: Bytes | null;
}

/** Whether this is meant as a proof: a server without a log may answer anything. */
export function isProof(data: Bytes): boolean {
  return toLatin1(data.slice(0, HEADER.length + 1)) === `${HEADER}\n`;
}

export function parseProof(data: Bytes): Proof {
  if (data.length > MAX_PROOF_BYTES) throw malformed('a proof that is too long');
  const parts = splitAtBlank(data, 'first');
  if (!parts) throw malformed('a proof has lines, a blank line and a checkpoint');
  const [header, ...lines] = toLatin1(parts[0]).split('\n');
  if (header !== HEADER) throw malformed('not a proof of a known version');
  const extra = lines[0]?.startsWith('extra ') ? decodeBase64(lines.shift()!.slice('extra '.length)) : null;
  if (extra?.length === 0) throw malformed('empty extra data is left out');
  const index = lines.shift();
  if (!index?.startsWith('index ')) throw malformed('a proof has an index');
  if (lines.length > MAX_HASHES) throw malformed('a proof with too many hashes');
  const note = parseNote(parts[1]);
  parseCheckpoint(note.text);
  return { index: parseDecimal(index.slice('index '.length)), hashes: lines.map(decodeHash), note, extra };
}

/** The checkpoint, if the policy accepts it and the leaf with this hash is in it; throws otherwise. */
export async function verifyProof(proof: Proof, leaf: Uint8Array, policy: Policy): Promise<Valid> {
  const valid = await verifyCheckpoint(policy, proof.note);
  await verifyInclusion(proof.index, valid.checkpoint.size, leaf, valid.checkpoint.root, proof.hashes);
  return valid;
}
