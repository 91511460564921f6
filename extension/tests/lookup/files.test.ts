import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import {
  BLOCK_BYTES,
  type Bucket,
  daysBetween,
  findVersion,
  hashText,
  keyOf,
  prefixOf,
  readBucket,
  readLayout,
  unframe,
} from '../../src/lookup/files';
import { Malformed } from '../../src/protocol/read';
import { frame } from './build';

const KEY = createHash('sha256').update('openerrata/post/1|X|20').digest('hex');
const HASH = 'cd'.repeat(32);
const VERSION = { contentHash: HASH, revisions: ['7'], investigation: 'i1', proof: '' };

describe('a key', () => {
  it('is that of the server', async () => expect(await keyOf('X', '20')).toBe(KEY));

  it('comes with the hash of docs/protocol.md 3.3', async () =>
    expect(await hashText('Alpha beta')).toBe(createHash('sha256').update('Alpha beta').digest('hex')));
});

describe('a prefix', () => {
  it.each([
    [0, 'all'],
    [1, '8'],
    [3, 'e'],
    [4, 'f'],
    [5, 'f8'],
    [6, 'fc'],
    [13, 'fed0'],
    [16, 'fed5'],
  ])('of %i bits is %s', (length, prefix) => expect(prefixOf(`fed5${'0'.repeat(60)}`, length)).toBe(prefix));

  it('is the first bits of the key and nothing else of it', () => {
    const hex = fc.array(fc.integer({ min: 0, max: 15 }), { minLength: 64, maxLength: 64 });
    fc.assert(
      fc.property(hex, fc.integer({ min: 1, max: 16 }), (digits, length) => {
        const binary = digits.map((digit) => digit.toString(2).padStart(4, '0')).join('');
        const prefix = prefixOf(digits.map((digit) => digit.toString(16)).join(''), length);
        const named = Array.from(prefix, (digit) => parseInt(digit, 16).toString(2).padStart(4, '0')).join('');
        expect(named).toBe(binary.slice(0, length).padEnd(Math.ceil(length / 4) * 4, '0'));
      }),
    );
  });
});

describe('a body', () => {
  it('gives back what was framed, whatever its size', async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), async (document) => {
        const body = frame(document);
        expect(body.length % BLOCK_BYTES).toBe(0);
        expect(await unframe(body)).toEqual(JSON.parse(JSON.stringify(document)));
      }),
    );
  });

  it.each<[string, () => Uint8Array<ArrayBuffer>]>([
    ['nothing', () => new Uint8Array()],
    ['no padding', () => frame({}).slice(0, 1_000)],
    ['no content', () => new Uint8Array(BLOCK_BYTES)],
    ['a length beyond its end', () => frame({}).fill(255, 0, 4)],
    ['a cut content', () => frame({ a: 1 }).fill(9, 3, 4)],
    ['no JSON', () => withContent(gzipSync('{'))],
    ['more than fits', () => withContent(gzipSync(`${' '.repeat(33 * 1024 * 1024)}1`))],
    ['no UTF-8', () => withContent(gzipSync(Buffer.from([34, 255, 34])))],
  ])('of %s is refused', async (_, make) => expect(unframe(make())).rejects.toThrow(Malformed));
});

function withContent(packed: Uint8Array): Uint8Array<ArrayBuffer> {
  const body = new Uint8Array(BLOCK_BYTES * Math.ceil((packed.length + 4) / BLOCK_BYTES));
  new DataView(body.buffer).setUint32(0, packed.length);
  body.set(packed, 4);
  return body;
}

describe('a version', () => {
  const clear = createHash('sha256')
    .update(Buffer.from(KEY + HASH, 'hex'))
    .digest('hex')
    .slice(0, 16);
  const bucket = (posts: Bucket['posts'], names: string[] = []): Bucket => ({ v: 1, posts, clear: names });
  const shown = { key: KEY, contentHash: HASH, revision: null };
  const edited = { ...VERSION, contentHash: 'ef'.repeat(32) };

  it('is found by its text, before a version of the same name', async () => {
    const found = await findVersion(bucket([{ key: KEY, versions: [edited, VERSION] }]), { ...shown, revision: '7' });
    expect(found).toEqual({ kind: 'version', version: VERSION });
  });

  it('is found by the name that the site gives it', async () => {
    const posts = [{ key: KEY, versions: [edited] }];
    expect(await findVersion(bucket(posts), { ...shown, revision: '7' })).toMatchObject({ kind: 'version' });
    expect(await findVersion(bucket(posts), { ...shown, revision: '8' })).toMatchObject({ kind: 'other' });
  });

  it('with nothing found is one, though another version has findings', async () => {
    const posts = [{ key: KEY, versions: [edited] }];
    expect(await findVersion(bucket(posts, [clear]), shown)).toEqual({ kind: 'clear' });
    expect(await findVersion(bucket(posts), shown)).toEqual({ kind: 'other', version: edited });
  });

  it('is unknown where only other posts of its bucket have its text', async () => {
    const posts = [{ key: 'ab'.repeat(32), versions: [VERSION] }];
    expect(await findVersion(bucket(posts), shown)).toEqual({ kind: 'unknown' });
  });
});

describe('what the server says', () => {
  it('may not lengthen prefixes until they name a post', () => {
    const layout = { v: 1, layout: 'b6', bits: 6, paused: false, firstDay: '2026-11-01' };
    expect(readLayout(layout, 'layout')).toMatchObject({ layout: 'b6', bits: 6 });
    for (const bad of [{ bits: 17 }, { bits: -1 }, { layout: '../x' }, { layout: '' }, { v: 2 }, { paused: 0 }])
      expect(() => readLayout({ ...layout, ...bad }, 'layout')).toThrow(Malformed);
  });

  it('is read strictly', () => {
    const bucket = { v: 1, checkpoint: '', posts: [{ key: KEY, versions: [VERSION] }], clear: ['0'.repeat(16)] };
    expect(readBucket(bucket, 'bucket').posts).toHaveLength(1);
    for (const bad of [{ posts: [{ key: 'x', versions: [] }] }, { clear: ['1'] }, { v: 2 }])
      expect(() => readBucket({ ...bucket, ...bad }, 'bucket')).toThrow(Malformed);
  });
});

describe('days', () => {
  const at = (moment: string) => Date.parse(moment);

  it.each([
    ['2026-11-23T10:00Z', '2026-11-25T01:00Z', ['2026-11-23', '2026-11-24', '2026-11-25']],
    ['2026-11-25T00:00Z', '2026-11-25T23:59Z', ['2026-11-25']],
    ['2026-12-25T00:00Z', '2026-11-25T23:59Z', ['2026-11-25']],
    ['2026-01-01T00:00Z', '2026-03-01T00:00Z', ['2026-02-26', '2026-02-27', '2026-02-28', '2026-03-01']],
  ])('from %s to %s', (from, to, days) => expect(daysBetween(at(from), at(to), 4)).toEqual(days));
});
