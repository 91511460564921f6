/**
 * Public keys of logs and witnesses, and what verifies their signatures.
 *
 * Browsers have Ed25519 and no ML-DSA: keys of that kind are read and kept, and their signatures count for nothing here.
 */
import { type Bytes, concat, decodeBase64, isEqual, malformed, MAX_SIZE, sha256, TlogError } from './encoding';
import { checkName, KEY_ID_BYTES, type Note, type NoteSignature, parseCheckpoint } from './note';

export const ED25519 = 0x01;
export const COSIGNATURE = 0x04;
export const ML_DSA_44 = 0x06;

const LENGTHS: Readonly<Partial<Record<number, number>>> = { [ED25519]: 32, [COSIGNATURE]: 32, [ML_DSA_44]: 1312 };
const TIME_BYTES = 8;
const SIGNATURE_BYTES = 64;

export interface VerifierKey {
  readonly name: string;
  readonly algorithm: number;
  readonly keyId: Bytes;
  readonly publicKey: Bytes;
}

/** A signature that was verified, with its key and the POSIX time that a cosignature states. */
export interface Verified {
  readonly key: VerifierKey;
  readonly time: bigint | null;
}

/** A vkey, `name+id+key`. */
export async function parseKey(vkey: string): Promise<VerifierKey> {
  const match = /^([^+]*)\+([0-9a-f]{8})\+([^]*)$/.exec(vkey);
  if (!match) throw malformed('a key has the form name+id+key');
  const [name, id, data] = [checkName(match[1]!), match[2]!, decodeBase64(match[3]!)];
  const [algorithm, publicKey] = [data[0] ?? 0, data.slice(1)];
  if (publicKey.length !== LENGTHS[algorithm]) throw malformed('not a key of a known algorithm');
  const hash = await sha256(concat(new TextEncoder().encode(`${name}\n`), data));
  const keyId = hash.slice(0, KEY_ID_BYTES);
  if (toHex(keyId) !== id) throw malformed('the id of the key is another one');
  return { name, algorithm, keyId, publicKey };
}

/** The signatures that known keys made; none is an empty list. Throws if one says that it is by a known key and is not. */
export async function verifyNote(note: Note, keys: readonly VerifierKey[]): Promise<readonly Verified[]> {
  const verified: Verified[] = [];
  for (const signature of note.signatures) {
    const key = keys.find((each) => each.algorithm !== ML_DSA_44 && isBy(each, signature));
    if (key) verified.push({ key, time: await verify(key, note.text, signature) });
  }
  return verified;
}

async function verify(key: VerifierKey, text: string, { value }: NoteSignature): Promise<bigint | null> {
  const time = key.algorithm === COSIGNATURE ? timeOf(value) : null;
  const signature = time === null ? value : value.slice(TIME_BYTES);
  if (signature.length !== SIGNATURE_BYTES) throw wrong(key);
  if (time !== null) parseCheckpoint(text);
  const message = new TextEncoder().encode(time === null ? text : `cosignature/v1\ntime ${time.toString()}\n${text}`);
  const imported = await crypto.subtle.importKey('raw', key.publicKey, 'Ed25519', false, ['verify']).catch(() => null);
  if (!imported || !(await crypto.subtle.verify('Ed25519', imported, signature, message))) throw wrong(key);
  return time;
}

/** Any point of the curve; whether a browser can import it says whether it knows Ed25519: Chrome does since 137. */
const SOME_KEY = new Uint8Array([0x58, ...new Array<number>(31).fill(0x66)]);

/** Whether signatures can be verified here. */
export async function canVerify(): Promise<boolean> {
  const imported = await crypto.subtle.importKey('raw', SOME_KEY, 'Ed25519', false, ['verify']).catch(() => null);
  return imported !== null;
}

function timeOf(value: Bytes): bigint {
  if (value.length < TIME_BYTES) throw new TlogError('signature', 'a cosignature without a time');
  const time = new DataView(value.buffer, value.byteOffset).getBigUint64(0);
  if (time > MAX_SIZE) throw new TlogError('signature', 'a cosignature states a time that there is not');
  return time;
}

function isBy(key: VerifierKey, signature: NoteSignature): boolean {
  return key.name === signature.name && isEqual(key.keyId, signature.keyId);
}

function wrong(key: VerifierKey): TlogError {
  return new TlogError('signature', `a signature by ${key.name} does not verify`);
}

function toHex(data: Uint8Array): string {
  return Array.from(data, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
