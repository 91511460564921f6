/**
 * A decision with its proof: the leaf is in a log that a policy accepts, and the documents are what it commits to.
 *
 * Source: rows TR-17 and TR-18 of docs/requirements/trust.md; tlog/decision.py and tlog/leaf.py write and read the same.
 */
import {
  count,
  having,
  isWebUrl,
  list,
  literal,
  Malformed,
  matching,
  optional,
  type Read,
  text,
} from '../protocol/read';
import type { Claim, Provenance } from '../protocol/status';
import { type Bytes, concat, decodeBase64, decodeUtf8, malformed, sha256, TlogError, toHex } from './encoding';
import { hashLeaf } from './merkle';
import type { Checkpoint, Note } from './note';
import type { Policy } from './policy';
import { parseProof, verifyProof } from './proof';

const OPENING = new TextEncoder().encode('openerrata/opening/1\n');

const readExtra = having({ leaf: text, openings: list(having({ j: count, salt: text, document: text })) });
const readLeaf = having({
  v: (value: unknown, at: string) => {
    if (value !== 1) throw new Malformed(at, '1');
    return value;
  },
  k: text,
  c: optional(list(matching(/^[A-Za-z0-9_-]{43}$/, 'a commitment'))),
});
const readRun = having({
  investigation: text,
  contentHash: optional(text),
  provenance: optional(literal('SERVER_VERIFIED', 'CLIENT_FALLBACK')),
});
const readFinding = having({
  claim: text,
  text,
  context: text,
  summary: text,
  reasoning: text,
  sources: list(having({ url: text, title: text, snippet: text })),
});

export interface Decision {
  readonly index: bigint;
  readonly checkpoint: Checkpoint;
  readonly note: Note;
  readonly cosignatures: number;
  /** What was decided, as tlog/leaf.py names it. */
  readonly kind: string;
  /** By their place among the leaf's commitments, as far as they were not erased. */
  readonly documents: ReadonlyMap<number, string>;
}

/** The decision that a `.tlog-proof` proves; throws if it proves none. */
export async function proveDecision(data: Bytes, policy: Policy): Promise<Decision> {
  const proof = parseProof(data);
  const extra = read(readExtra, decodeUtf8(proof.extra ?? new Uint8Array()));
  const valid = await verifyProof(proof, await hashLeaf(new TextEncoder().encode(extra.leaf)), policy);
  const leaf = read(readLeaf, extra.leaf);
  // One spelling for each leaf: what is written twice or with spaces could be read in two ways.
  if (JSON.stringify(JSON.parse(extra.leaf)) !== extra.leaf) throw malformed('the leaf is not in canonical form');
  const documents = new Map<number, string>();
  for (const { j, salt, document } of extra.openings) {
    if (leaf.c?.[j] !== (await commit(decodeBase64(salt), document))) {
      throw new TlogError('proof', `document ${j} is not what the leaf commits to`);
    }
    documents.set(j, document);
  }
  // Each witness counts once, however often it stands there.
  const cosignatures = new Set(valid.signatures.filter(({ time }) => time !== null).map(({ key }) => key)).size;
  const { index, note } = proof;
  return { index, checkpoint: valid.checkpoint, note, cosignatures, kind: leaf.k, documents };
}

/** Check that the decision is about this investigation and found each of these findings in these words, or throw. */
export async function confirmFindings(
  { kind, documents }: Decision,
  investigationId: string,
  shown: readonly Claim[],
): Promise<void> {
  if (kind !== 'found') throw contradicts('nothing was found');
  if (read(readRun, documents.get(0) ?? '').investigation !== investigationId)
    throw contradicts('another investigation');
  const logged = [...documents].filter(([j]) => j > 0).map(([, document]) => read(readFinding, document));
  for (const finding of shown) {
    const same = logged.find(({ claim }) => claim === finding.id);
    if (same === undefined) throw contradicts('a finding that was not logged');
    const isSame =
      same.text === finding.text &&
      same.context === finding.context &&
      same.summary === finding.summary &&
      same.reasoning === toHex(await sha256(new TextEncoder().encode(finding.reasoning))) &&
      finding.sources.every((source) => same.sources.some((other) => isSameSource(source, other)));
    if (!isSame) throw contradicts('a finding in other words');
  }
}

/** The findings that a decision opens, if it is about this text, or throw. Their reasoning is only there as a hash. */
export function openFindings(
  { kind, documents }: Decision,
  investigationId: string,
  contentHash: string,
): { readonly claims: readonly Claim[]; readonly provenance: Provenance | null } {
  if (kind !== 'found') throw contradicts('nothing was found');
  const run = read(readRun, documents.get(0) ?? '');
  if (run.investigation !== investigationId) throw contradicts('another investigation');
  if (run.contentHash !== contentHash) throw contradicts('another text');
  const claims = [...documents]
    .filter(([j]) => j > 0)
    .map(([, document]) => {
      const { claim: id, text, context, summary, sources } = read(readFinding, document);
      return { id, text, context, summary, reasoning: '', sources: sources.filter(({ url }) => isWebUrl(url)) };
    });
  return { claims, provenance: run.provenance ?? null };
}

type Source = Claim['sources'][number];

function isSameSource(one: Source, other: Source): boolean {
  return one.url === other.url && one.title === other.title && one.snippet === other.snippet;
}

async function commit(salt: Bytes, document: string): Promise<string> {
  const hash = await sha256(concat(OPENING, salt, new TextEncoder().encode(document)));
  return btoa(String.fromCharCode(...hash))
    .replace(/\+/g, '-')
    .replace(/\//g, '_')
    .replace(/=+$/, '');
}

function read<T>(reader: Read<T>, json: string): T {
  try {
    return reader(JSON.parse(json), 'proof');
  } catch (error) {
    if (error instanceof Malformed || error instanceof SyntaxError) throw malformed(error.message);
    throw error;
  }
}

function contradicts(message: string): TlogError {
  return new TlogError('proof', `the log says otherwise: ${message}`);
}
