/** Each rule of a verdict against cases with known answers; pytest runs the same files. */
import fc from 'fast-check';
import { expect, test } from 'vitest';

import { warnOfBand, type WarningId } from '../../src/verdict/bands';
import { applyCaps, type CapId, type Evidence } from '../../src/verdict/caps';
import { contextBlock, systemMessage } from '../../src/verdict/context';
import { countFamilies } from '../../src/verdict/families';
import { ANSWER_SCHEMA, LIMITS } from '../../src/verdict/given';
import { salvage, salvageReply, type Answer, type Source, type Verdict } from '../../src/verdict/salvage';
import { checkSources, keepReturned, type Hit } from '../../src/verdict/sources';
import { cases } from './cases';

test.each(cases<{ name: string; said: string; answer: Answer | null }>('salvage'))('$name', ({ said, answer }) => {
  expect(salvage(said)).toEqual(answer);
});

test('what a server puts beside an empty content is read, and only then', () => {
  const [alone] = cases<{ said: string; answer: Answer }>('salvage');
  expect(salvageReply('', alone!.said)).toEqual(alone!.answer);
  expect(salvageReply(' \n<think>so</think>', alone!.said)).toEqual(alone!.answer);
  expect(salvageReply('no', alone!.said)).toBeNull();
});

test('a text full of braces costs no more than the places that are tried', () => {
  expect(salvage('{'.repeat(200_000))).toBeNull();
  expect(salvage('<think>'.repeat(50_000))).toBeNull();
});

test.each(cases<{ name: string; returned: Hit[]; given: Source[]; kept: Hit[]; dropped: number }>('sources'))(
  '$name',
  ({ returned, given, kept, dropped }) => {
    expect(keepReturned(given, returned)).toEqual({ kept, dropped });
  },
);

interface Backfill {
  name: string;
  verdict: Verdict;
  given: Source[] | null;
  returned: Hit[];
  sources: Hit[];
  backfilled: boolean;
}

test.each(cases<Backfill>('backfill'))('$name', ({ verdict, given, returned, sources, backfilled }) => {
  expect(checkSources({ verdict, sources: given }, returned)).toMatchObject({ sources, backfilled });
});

interface Capping {
  name: string;
  verdict: Verdict;
  confidence: number;
  evidence: Evidence;
  caps: CapId[];
  left: number;
}

test.each(cases<Capping>('caps'))('$name', ({ verdict, confidence, evidence, caps, left }) => {
  expect(applyCaps(verdict, confidence, evidence)).toEqual({ confidence: left, caps });
});

test('confidence never rises, and is no lower than the lowest cap', () => {
  const verdicts = fc.constantFrom(...ANSWER_SCHEMA.properties.verdict.enum);
  const evidence = fc.constantFrom(...cases<Capping>('caps').map((each) => each.evidence));
  fc.assert(
    fc.property(verdicts, fc.integer({ min: 0, max: 100 }), evidence, (verdict, said, known) => {
      const { confidence, caps } = applyCaps(verdict, said, known);
      expect(confidence).toBe(Math.min(said, ...caps.map((cap) => LIMITS.caps[cap])));
      expect(caps.length === 0 || confidence < said).toBe(true);
    }),
  );
});

test.each(cases<{ verdict: Verdict; confidence: number; families: number; warning: WarningId | null }>('bands'))(
  '$verdict with $confidence and $families families',
  ({ verdict, confidence, families, warning }) => {
    expect(warnOfBand(verdict, confidence, families)).toBe(warning);
  },
);

test.each(cases<{ name: string; hits: Hit[]; families: number }>('families'))('$name', ({ hits, families }) => {
  expect(countFamilies(hits)).toBe(families);
});

test.each(cases<{ moment: string; zone: string; prompt: string; block: string; system: string }>('context'))(
  '$moment in $zone',
  ({ moment, zone, prompt, block, system }) => {
    expect(contextBlock(moment, zone)).toBe(block);
    expect(systemMessage(prompt, moment, zone)).toBe(system);
  },
);
