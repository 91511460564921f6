/**
 * The files of private look-ups: how they are framed, what is in them, and which of them a post is in.
 *
 * They are the same for everybody, and a post is asked for only as one of many in its bucket. Source: rows
 * TR-21 to TR-25 of docs/requirements/trust.md.
 */
import {
  count,
  flag,
  having,
  list,
  literal,
  Malformed,
  matching,
  nonEmpty,
  type Of,
  type Read,
  text,
} from '../protocol/read';
import { type Bytes, concat, fromHex, sha256, toHex } from '../tlog/encoding';

/** Bodies are padded to multiples of this, so that their length says little. */
export const BLOCK_BYTES = 32 * 1024;
export const MAX_BITS = 16;
const LENGTH_BYTES = 4;
const MAX_JSON_BYTES = 32 * 1024 * 1024;

const hash = matching(/^[0-9a-f]{64}$/, '64 hexadecimal digits');
const day = matching(/^\d{4}-\d{2}-\d{2}$/, 'a day');

const bits: Read<number> = (value, at) => {
  if (count(value, at) > MAX_BITS) throw new Malformed(at, `at most ${MAX_BITS}`);
  return value as number;
};

export const readLayout = having({
  v: literal(1),
  layout: matching(/^[a-z0-9]{1,16}$/, 'the name of a layout'),
  bits,
  paused: flag,
});

const version = having({
  contentHash: hash,
  revisions: list(text),
  investigation: nonEmpty,
  proof: text,
});

export const readBucket = having({
  v: literal(1),
  posts: list(having({ key: hash, versions: list(version) })),
  clear: list(matching(/^[0-9a-f]{16}$/, '16 hexadecimal digits')),
});

export const readRetractions = having({
  v: literal(1),
  day,
  claims: list(having({ id: nonEmpty, state: text })),
});

export type Layout = Of<typeof readLayout>;
export type Bucket = Of<typeof readBucket>;
export type Retractions = Of<typeof readRetractions>;
export type LookupVersion = Of<typeof version>;

/** A version of a post as a page shows it. Shapes: `key` and `contentHash` in hexadecimal digits. */
export interface ShownVersion {
  readonly key: string;
  readonly contentHash: string;
  /** The site's own name of it, where its pages say it. */
  readonly revision: string | null;
}

/** A post's key: a hash, from which the post cannot be read. */
export async function keyOf(platform: string, externalId: string): Promise<string> {
  return toHex(await sha256(new TextEncoder().encode(`openerrata/post/1|${platform}|${externalId}`)));
}

/** Hash a page's normalised text as section 3.3 of docs/protocol.md does. */
export async function hashText(normalised: string): Promise<string> {
  return toHex(await sha256(new TextEncoder().encode(normalised)));
}

/** The name of the bucket that a key is in. */
export function prefixOf(key: string, length: number): string {
  if (length === 0) return 'all';
  const digits = Math.ceil(length / 4);
  const spare = digits * 4 - length;
  const value = (parseInt(key.slice(0, digits), 16) >> spare) << spare;
  return value.toString(16).padStart(digits, '0');
}

/** Read the JSON from its padded frame. Raises: Malformed. */
export async function unframe(body: Bytes): Promise<unknown> {
  const length = body.length < LENGTH_BYTES ? 0 : new DataView(body.buffer, body.byteOffset).getUint32(0);
  if (body.length % BLOCK_BYTES !== 0 || length === 0 || LENGTH_BYTES + length > body.length)
    throw new Malformed('body', 'a length, as many bytes, and padding');
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(await gunzip(body.slice(4, 4 + length))));
  } catch {
    throw new Malformed('body', 'compressed JSON');
  }
}

export type Match =
  | { readonly kind: 'version'; readonly version: LookupVersion }
  /** Exactly this text was investigated, and nothing was found. */
  | { readonly kind: 'clear' }
  /** Another version of the post has findings. */
  | { readonly kind: 'other'; readonly version: LookupVersion }
  | { readonly kind: 'unknown' };

/** Look a version up in its bucket: by its text, else by the site's own name of it. */
export async function findVersion(bucket: Bucket, { key, contentHash, revision }: ShownVersion): Promise<Match> {
  const versions = bucket.posts.filter((post) => post.key === key).flatMap((post) => post.versions);
  const version =
    versions.find((one) => one.contentHash === contentHash) ??
    versions.find(({ revisions }) => revision !== null && revisions.includes(revision));
  if (version !== undefined) return { kind: 'version', version };
  const name = toHex(await sha256(concat(fromHex(key), fromHex(contentHash)))).slice(0, 16);
  if (bucket.clear.includes(name)) return { kind: 'clear' };
  return versions[0] === undefined ? { kind: 'unknown' } : { kind: 'other', version: versions[0] };
}

export const DAY_MS = 86_400_000;

/** The UTC days from one moment to another, the oldest first; of more than `most` days the newest. */
export function daysBetween(from: number, to: number, most: number): string[] {
  const last = Math.floor(to / DAY_MS);
  const first = Math.max(Math.min(Math.floor(from / DAY_MS), last), last - most + 1);
  return Array.from({ length: last - first + 1 }, (_, index) =>
    new Date((first + index) * DAY_MS).toISOString().slice(0, 10),
  );
}

async function gunzip(data: Bytes): Promise<Bytes> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  const reader = new Blob([data]).stream().pipeThrough(new DecompressionStream('gzip')).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return concat(...pieces);
    length += value.length;
    if (length > MAX_JSON_BYTES) {
      await reader.cancel();
      throw new Error('too long');
    }
    pieces.push(value);
  }
}
