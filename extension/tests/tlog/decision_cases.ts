/** The cases of tests/cases/decisions.json, which tests/support/decision_cases.py writes. */
import { readFileSync } from 'node:fs';

import type { Claim } from '../../src/protocol/status';
import { type Bytes, decodeBase64 } from '../../src/tlog/encoding';

interface Cases {
  readonly policy: string;
  readonly policy_of_both: string;
  readonly investigation: string;
  readonly findings: readonly Claim[];
  readonly cases: readonly {
    case: string;
    proof: string;
    outcome: string;
    kind: string | null;
    cosignatures: number;
  }[];
}

export const CASES = JSON.parse(
  readFileSync(new URL('../../../tests/cases/decisions.json', import.meta.url), 'utf8'),
) as Cases;

export function proofOf(name: string): Bytes {
  return decodeBase64(CASES.cases.find((each) => each.case === name)!.proof);
}
