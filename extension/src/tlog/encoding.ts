/** Base64, decimals and text as C2SP writes them: one spelling for each value, and nothing else is read. */

export type Bytes = Uint8Array<ArrayBuffer>;

/** The largest size of a tree, and the largest time of a cosignature. */
export const MAX_SIZE = 2n ** 63n - 1n;
export const HASH_BYTES = 32;

/** What is wrong: the form, a signature, the quorum of the policy, or the Merkle proof. */
export type TlogProblem = 'malformed' | 'signature' | 'quorum' | 'proof';

export class TlogError extends Error {
  readonly kind: TlogProblem;

  constructor(kind: TlogProblem, message: string) {
    super(message);
    this.name = 'TlogError';
    this.kind = kind;
  }
}

export function malformed(message: string): TlogError {
  return new TlogError('malformed', message);
}

/** Bytes as text with one character each, so that nothing is lost. */
export function toLatin1(data: Uint8Array): string {
  let text = '';
  for (const byte of data) text += String.fromCharCode(byte);
  return text;
}

export function fromLatin1(text: string): Bytes {
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}

/** UTF-8, nothing left out: a mark of byte order is a character. */
export function decodeUtf8(data: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(data);
  } catch {
    throw malformed('not UTF-8');
  }
}

/** Refuses every control character but the newline. */
export function checkText(text: string): string {
  if (/[\u0000-\u0009\u000b-\u001f]/.test(text)) throw malformed('contains a control character');
  return text;
}

export function decodeBase64(text: string): Bytes {
  let latin1: string;
  try {
    latin1 = atob(text);
  } catch {
    throw malformed('not base64');
  }
  // `atob` leaves white space out and does not look at spare bits.
  if (btoa(latin1) !== text) throw malformed('not canonical base64');
  return fromLatin1(latin1);
}

export function decodeHash(text: string): Bytes {
  const data = decodeBase64(text);
  if (data.length !== HASH_BYTES) throw malformed('a hash has 32 bytes');
  return data;
}

/** ASCII digits without a leading zero. */
export function parseDecimal(text: string, largest = MAX_SIZE): bigint {
  if (!/^(?:0|[1-9][0-9]{0,19})$/.test(text)) throw malformed('not a decimal number');
  const value = BigInt(text);
  if (value > largest) throw malformed('a number that is too large');
  return value;
}

export function isEqual(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, at) => byte === other[at]);
}

export function concat(...parts: readonly Uint8Array[]): Bytes {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

export function toHex(data: Uint8Array): string {
  return Array.from(data, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Pairs of hexadecimal digits. */
export function fromHex(text: string): Bytes {
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

export async function sha256(data: Bytes): Promise<Bytes> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', data));
}

/** The index of the first blank line, or of the last one; -1 where there is none. */
export function splitAtBlank(data: Bytes, which: 'first' | 'last'): readonly [Bytes, Bytes] | null {
  const text = toLatin1(data);
  const at = which === 'first' ? text.indexOf('\n\n') : text.lastIndexOf('\n\n');
  return at < 0 ? null : [data.slice(0, at), data.slice(at + 2)];
}
