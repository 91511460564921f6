import { describe, expect, test } from 'vitest';

import type { Claim } from '../../src/protocol/status';
import { confirmFindings, proveDecision } from '../../src/tlog/decision';
import { decodeBase64, TlogError } from '../../src/tlog/encoding';
import { parsePolicy } from '../../src/tlog/policy';
import { requirement } from '../requirement';
import { CASES, proofOf } from './decision_cases';

const POLICY = await parsePolicy(decodeBase64(CASES.policy));
const [FIRST, SECOND] = CASES.findings as [Claim, Claim];

async function outcomeOf(work: () => Promise<unknown>): Promise<string> {
  try {
    await work();
    return 'valid';
  } catch (error) {
    if (error instanceof TlogError) return error.kind;
    throw error;
  }
}

async function shows(name: string, findings: readonly Claim[], investigation = CASES.investigation): Promise<string> {
  const decision = await proveDecision(proofOf(name), POLICY);
  return outcomeOf(() => confirmFindings(decision, investigation, findings));
}

describe(
  requirement('TR-18', 'The extension underlines only what a proof of the log confirms, where there is a log'),
  () => {
    test.each(CASES.cases)('proof: $case', async ({ proof, outcome, kind, cosignatures }) => {
      expect(await outcomeOf(() => proveDecision(decodeBase64(proof), POLICY))).toBe(outcome);
      if (kind !== null) expect(await proveDecision(decodeBase64(proof), POLICY)).toMatchObject({ kind, cosignatures });
    });

    test('what was logged is confirmed, whole or in part', async () => {
      expect(await shows('found', [FIRST, SECOND])).toBe('valid');
      expect(await shows('found', [SECOND])).toBe('valid');
    });

    test.each<[string, Claim]>([
      ['id', { ...FIRST, id: 'c3' }],
      ['id of another finding', { ...FIRST, id: 'c2' }],
      ['text', { ...FIRST, text: 'The Moon is made of rock.' }],
      ['context', { ...FIRST, context: '' }],
      ['summary', { ...FIRST, summary: 'It is made of ice.' }],
      ['reasoning', { ...FIRST, reasoning: 'It was seen.' }],
      ['sources', { ...FIRST, sources: SECOND.sources }],
      ['source beside those that were logged', { ...FIRST, sources: [...FIRST.sources, ...SECOND.sources] }],
      ['words of a source', { ...FIRST, sources: [{ ...FIRST.sources[0]!, snippet: 'Iron.' }] }],
    ])('another %s is not', async (_, changed) => expect(await shows('found', [SECOND, changed])).toBe('proof'));

    test('a decision about something else confirms nothing', async () => {
      expect(await shows('found', [FIRST], 'another')).toBe('proof');
      expect(await shows('nothing found', [FIRST])).toBe('proof');
      expect(await shows('failed', [FIRST])).toBe('proof');
      expect(await shows('erased', [FIRST])).toBe('malformed');
    });

    test('what a valid proof says is there to be read', async () => {
      const { index, cosignatures, checkpoint } = await proveDecision(proofOf('found'), POLICY);
      expect([index, cosignatures, checkpoint.size]).toEqual([6n, 2, 11n]);
    });
  },
);
