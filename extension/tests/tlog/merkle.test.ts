import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { decodeBase64, TlogError } from '../../src/tlog/encoding';
import { hashLeaf, verifyConsistency, verifyInclusion } from '../../src/tlog/merkle';
import { requirement } from '../requirement';

interface Case {
  readonly case: string;
  readonly refused: boolean;
  readonly proof: readonly string[];
}

interface Vectors {
  readonly inclusion: readonly (Case & Record<'index' | 'size' | 'leaf' | 'root', string>)[];
  readonly consistency: readonly (Case & Record<'old' | 'new' | 'old_root' | 'new_root', string>)[];
}

const VECTORS = JSON.parse(
  readFileSync(new URL('../../../tests/cases/merkle.json', import.meta.url), 'utf8'),
) as Vectors;

async function isRefused(check: Promise<void>): Promise<boolean> {
  try {
    await check;
    return false;
  } catch (error) {
    if (error instanceof TlogError && error.kind === 'proof') return true;
    throw error;
  }
}

describe(requirement('TR-8', 'Merkle proofs agree with the 196 public vectors, in Python and in the extension'), () => {
  test('there are as many', () => {
    expect([VECTORS.inclusion.length, VECTORS.consistency.length]).toEqual([98, 98]);
  });

  test.each(VECTORS.inclusion)('inclusion $case', async ({ index, size, leaf, root, proof, refused }) => {
    const hashes = proof.map(decodeBase64);
    const check = verifyInclusion(BigInt(index), BigInt(size), decodeBase64(leaf), decodeBase64(root), hashes);
    expect(await isRefused(check)).toBe(refused);
  });

  test.each(VECTORS.consistency)('consistency $case', async (vector) => {
    const [oldRoot, newRoot] = [decodeBase64(vector.old_root), decodeBase64(vector.new_root)];
    const hashes = vector.proof.map(decodeBase64);
    const check = verifyConsistency(BigInt(vector.old), BigInt(vector.new), oldRoot, newRoot, hashes);
    expect(await isRefused(check)).toBe(vector.refused);
  });
});

test('the hash of a leaf is that of RFC 6962', async () => {
  expect(await hashLeaf(new Uint8Array())).toEqual(decodeBase64('bjQLnP+zepicpUTmu3gKLHiQHT+zNzh2hRGjBhevoB0='));
});
