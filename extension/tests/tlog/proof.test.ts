import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { decodeBase64, TlogError, toLatin1 } from '../../src/tlog/encoding';
import { parseKey } from '../../src/tlog/keys';
import { MAX_SIGNATURES, parseCheckpoint, parseNote } from '../../src/tlog/note';
import { isQuorum, parsePolicy } from '../../src/tlog/policy';
import { parseProof, verifyProof } from '../../src/tlog/proof';
import { requirement } from '../requirement';

interface Cases {
  readonly keys: readonly { vkey: string; refused: boolean }[];
  readonly checkpoints: readonly { text: string; refused: boolean }[];
  readonly notes: readonly { data: string; refused: boolean }[];
  readonly policies: readonly { data: string; refused: boolean }[];
  readonly policy: string;
  readonly proofs: readonly { case: string; proof: string; leaf: string; outcome: string }[];
}

const CASES = JSON.parse(readFileSync(new URL('../../../tests/cases/tlog.json', import.meta.url), 'utf8')) as Cases;
const POLICY = await parsePolicy(decodeBase64(CASES.policy));
const GOOD = CASES.proofs.find((each) => each.case === 'with extra data')!;

/** What becomes of a proof: the kind of the error, or that there is none. */
async function outcomeOf(proof: Uint8Array<ArrayBuffer>, leaf: string): Promise<string> {
  try {
    await verifyProof(parseProof(proof), decodeBase64(leaf), POLICY);
    return 'valid';
  } catch (error) {
    if (error instanceof TlogError) return error.kind;
    throw error;
  }
}

async function isMalformed(read: () => unknown): Promise<boolean> {
  try {
    await read();
    return false;
  } catch (error) {
    if (error instanceof TlogError && error.kind === 'malformed') return true;
    throw error;
  }
}

describe(
  requirement('TR-9', 'Notes, checkpoints, proofs and policies are read strictly: an altered byte or line is refused'),
  () => {
    test.each(CASES.keys)('key $vkey', async ({ vkey, refused }) => {
      expect(await isMalformed(() => parseKey(vkey))).toBe(refused);
    });

    test.each(CASES.checkpoints)('checkpoint $text', async ({ text, refused }) => {
      expect(await isMalformed(() => parseCheckpoint(text))).toBe(refused);
    });

    test.each(CASES.notes)('note $data', async ({ data, refused }) => {
      expect(await isMalformed(() => parseNote(decodeBase64(data)))).toBe(refused);
    });

    test.each(CASES.policies)('policy $data', async ({ data, refused }) => {
      expect(await isMalformed(() => parsePolicy(decodeBase64(data)))).toBe(refused);
    });

    test.each(CASES.proofs)('proof: $case', async ({ proof, leaf, outcome }) => {
      expect(await outcomeOf(decodeBase64(proof), leaf)).toBe(outcome);
    });

    test('no altered byte is accepted, but in the extra data, which nothing authenticates', async () => {
      const data = decodeBase64(GOOD.proof);
      const extra = toLatin1(data).indexOf('ZXh0cmE=');
      for (let at = 0; at < data.length; at += 1) {
        const changed = data.slice();
        changed[at]! ^= 1;
        if (at < extra || at >= extra + 8) expect(await outcomeOf(changed, GOOD.leaf), `byte ${at}`).not.toBe('valid');
      }
    });
  },
);

test('what a valid proof says is there to be read', async () => {
  const proof = parseProof(decodeBase64(GOOD.proof));
  const { checkpoint, signatures } = await verifyProof(proof, decodeBase64(GOOD.leaf), POLICY);
  expect(toLatin1(proof.extra!)).toBe('extra');
  expect([proof.index, checkpoint.origin, checkpoint.size]).toEqual([6n, 'log.example/log/v1', 11n]);
  expect(signatures.map(({ key, time }) => [key.name, time])).toEqual([
    ['log.example/log/v1', null],
    ['witness.example/w1', 1_764_000_000n],
    ['witness.example/w2', 1_764_000_000n],
  ]);
});

test('a note has a limit of signatures', async () => {
  const note = (count: number): Uint8Array<ArrayBuffer> =>
    new TextEncoder().encode(`text\n\n${'\u2014 name AAAAAAA=\n'.repeat(count)}`);
  expect(parseNote(note(MAX_SIGNATURES)).signatures).toHaveLength(MAX_SIGNATURES);
  expect(await isMalformed(() => parseNote(note(MAX_SIGNATURES + 1)))).toBe(true);
});

test('a quorum is what its groups say', () => {
  expect(isQuorum(POLICY, new Set(['w1', 'w3']))).toBe(true);
  expect(isQuorum(POLICY, new Set(['w1']))).toBe(false);
  expect(isQuorum(POLICY, new Set(['any2']))).toBe(false);
  expect(isQuorum({ ...POLICY, quorum: 'none' }, new Set())).toBe(true);
});

test('keys that browsers cannot verify count for nothing', async () => {
  const mlDsa = CASES.keys.find(({ vkey, refused }) => !refused && vkey.length > 1_000)!;
  const file = `witness w ${mlDsa.vkey}\nquorum none\n`;
  const policy = await parsePolicy(new TextEncoder().encode(file));
  expect(policy.witnesses.map(({ key }) => key.publicKey.length)).toEqual([1312]);
});
