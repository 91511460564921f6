/** Signed notes and checkpoints: their form only. A note must not be believed before its signatures are verified. */
import {
  type Bytes,
  checkText,
  decodeBase64,
  decodeHash,
  decodeUtf8,
  malformed,
  parseDecimal,
  splitAtBlank,
} from './encoding';

export const MAX_NOTE_BYTES = 1_000_000;
export const MAX_SIGNATURES = 100;
export const KEY_ID_BYTES = 4;

const DASH = '\u2014 ';

export interface NoteSignature {
  readonly name: string;
  readonly keyId: Bytes;
  readonly value: Bytes;
}

/** A text, which ends in a newline, and its signatures. */
export interface Note {
  readonly text: string;
  readonly signatures: readonly NoteSignature[];
}

/** What the log named `origin` says of its tree. */
export interface Checkpoint {
  readonly origin: string;
  readonly size: bigint;
  readonly root: Bytes;
  readonly extensions: readonly string[];
}

export function checkName(name: string): string {
  if (!/^[^\p{White_Space}+\u0000-\u001f]+$/u.test(name)) throw malformed('not the name of a key');
  return name;
}

export function parseNote(data: Bytes): Note {
  if (data.length > MAX_NOTE_BYTES) throw malformed('a note that is too long');
  checkText(decodeUtf8(data));
  const [text, lines] = splitAtBlank(data, 'last')?.map(decodeUtf8) ?? ['', ''];
  if (!text || !lines?.endsWith('\n')) throw malformed('a note has a text, a blank line and signature lines');
  const split = lines.slice(0, -1).split('\n');
  if (split.length > MAX_SIGNATURES) throw malformed('a note with too many signatures');
  return { text: `${text}\n`, signatures: split.map(parseSignature) };
}

export function parseCheckpoint(text: string): Checkpoint {
  const lines = checkText(text).split('\n');
  if (lines.pop() !== '' || lines.length < 3 || lines.includes('')) throw malformed('not the lines of a checkpoint');
  const [origin, size, root, ...extensions] = lines as [string, string, string, ...string[]];
  return { origin, size: parseDecimal(size), root: decodeHash(root), extensions };
}

function parseSignature(line: string): NoteSignature {
  const rest = line.slice(DASH.length);
  const at = rest.indexOf(' ');
  if (!line.startsWith(DASH) || at < 0) throw malformed('not a signature line');
  const data = decodeBase64(rest.slice(at + 1));
  if (data.length <= KEY_ID_BYTES) throw malformed('a signature line without a signature');
  return {
    name: checkName(rest.slice(0, at)),
    keyId: data.slice(0, KEY_ID_BYTES),
    value: data.slice(KEY_ID_BYTES),
  };
}
