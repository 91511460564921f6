/** Merkle proofs as RFC 9162 has them verified. Sizes are as large as a log may grow, hence `bigint`. */
import { type Bytes, concat, HASH_BYTES, isEqual, sha256, TlogError } from './encoding';

export function hashLeaf(data: Uint8Array): Promise<Bytes> {
  return sha256(concat(Uint8Array.of(0), data));
}

export function hashChildren(left: Uint8Array, right: Uint8Array): Promise<Bytes> {
  return sha256(concat(Uint8Array.of(1), left, right));
}

/** Check that the leaf with this hash is at `index` in the tree of `size` with this root, or throw (RFC 9162, 2.1.3.2). */
export async function verifyInclusion(
  index: bigint,
  size: bigint,
  leaf: Uint8Array,
  root: Uint8Array,
  proof: readonly Uint8Array[],
): Promise<void> {
  if (index < 0n || index >= size) throw wrong('there is no such leaf in the tree');
  checkLengths(leaf, root, ...proof);
  let node = leaf;
  await walk(index, size - 1n, proof, async (sibling, isLeft) => {
    node = isLeft ? await hashChildren(sibling, node) : await hashChildren(node, sibling);
  });
  if (!isEqual(node, root)) throw wrong('the proof leads to another root');
}

/**
 * Check that the tree of `old` leaves is the beginning of that of `new`, or throw (RFC 9162, 2.1.4.2).
 *
 * Nothing can be proved of an empty tree: a caller that allows `old` to be 0 must decide that case beforehand.
 */
export async function verifyConsistency(
  oldSize: bigint,
  newSize: bigint,
  oldRoot: Uint8Array,
  newRoot: Uint8Array,
  proof: readonly Uint8Array[],
): Promise<void> {
  if (oldSize <= 0n || oldSize > newSize) throw wrong('no tree is the beginning of a smaller one');
  if (oldSize === newSize) {
    if (proof.length > 0 || !isEqual(oldRoot, newRoot)) throw wrong('two trees of the same size differ');
    return;
  }
  checkLengths(oldRoot, newRoot, ...proof);
  // A complete old tree is a node of the new one, so its root is no part of the proof.
  const [first, ...rest] = (oldSize & (oldSize - 1n)) === 0n ? [oldRoot, ...proof] : proof;
  if (first === undefined) throw wrong('the proof is too short');
  let [place, last] = [oldSize - 1n, newSize - 1n];
  while (place & 1n) [place, last] = [place >> 1n, last >> 1n];
  let [oldNode, newNode] = [first, first];
  await walk(place, last, rest, async (sibling, isLeft) => {
    if (isLeft) oldNode = await hashChildren(sibling, oldNode);
    newNode = isLeft ? await hashChildren(sibling, newNode) : await hashChildren(newNode, sibling);
  });
  if (!isEqual(oldNode, oldRoot) || !isEqual(newNode, newRoot)) throw wrong('the proof leads to other roots');
}

/** From a place of a level, whose last place is given, to the root: on which side each sibling is. */
async function walk(
  place: bigint,
  last: bigint,
  proof: readonly Uint8Array[],
  step: (sibling: Uint8Array, isLeft: boolean) => Promise<void>,
): Promise<void> {
  for (const sibling of proof) {
    if (last === 0n) throw wrong('the proof is too long');
    const isLeft = (place & 1n) === 1n || place === last;
    await step(sibling, isLeft);
    if (isLeft) while (place !== 0n && (place & 1n) === 0n) [place, last] = [place >> 1n, last >> 1n];
    [place, last] = [place >> 1n, last >> 1n];
  }
  if (last !== 0n) throw wrong('the proof is too short');
}

function checkLengths(...hashes: readonly Uint8Array[]): void {
  if (hashes.some((each) => each.length !== HASH_BYTES)) throw wrong('a hash has 32 bytes');
}

function wrong(message: string): TlogError {
  return new TlogError('proof', message);
}
