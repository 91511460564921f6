/** Each rule of a verdict against cases with known answers; pytest runs the same files. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { warnOfBand, type WarningId } from '../../src/verdict/bands';
import { applyCaps, type CapId, type Evidence } from '../../src/verdict/caps';
import { contextBlock, systemMessage } from '../../src/verdict/context';
import { countFamilies } from '../../src/verdict/families';
import { ANSWER_SCHEMA, LIMITS, PROMPT } from '../../src/verdict/given';
import { salvage, salvageReply, type Answer, type Source, type Verdict } from '../../src/verdict/salvage';
import { checkSources, keepReturned, type Hit } from '../../src/verdict/sources';
import { requirement } from '../requirement';
import { cases } from './cases';

describe(requirement('FS-25', 'The last valid object in an answer wins, whatever stands around it'), () => {
  test.each(cases<{ name: string; said: string; answer: Answer | null }>('salvage'))('$name', ({ said, answer }) => {
    expect(salvage(said)).toEqual(answer);
  });
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

describe(requirement('FS-27', 'Sources come only from returned results'), () => {
  describe(requirement('FS-29', 'Without a search there are no sources'), () => {
    test.each(cases<{ name: string; returned: Hit[]; given: Source[]; kept: Hit[]; dropped: number }>('sources'))(
      '$name',
      ({ returned, given, kept, dropped }) => {
        expect(keepReturned(given, returned)).toEqual({ kept, dropped });
      },
    );
  });
});

interface Backfill {
  name: string;
  verdict: Verdict;
  given: Source[] | null;
  returned: Hit[];
  sources: Hit[];
  backfilled: boolean;
}

describe(requirement('FS-28', 'Missing sources are filled from the results, and marked'), () => {
  test.each(cases<Backfill>('backfill'))('$name', ({ verdict, given, returned, sources, backfilled }) => {
    expect(checkSources({ verdict, sources: given }, returned)).toMatchObject({ sources, backfilled });
  });
});

interface Capping {
  name: string;
  verdict: Verdict;
  confidence: number;
  evidence: Evidence;
  caps: CapId[];
  left: number;
}

describe(requirement('FS-19', 'Cap 40: no search was answered'), () => {
  describe(requirement('FS-20', 'Cap 50: every source is more than a year old'), () => {
    describe(requirement('FS-21', 'Cap 50: the only source is a post or an unverified blog'), () => {
      describe(requirement('FS-22', "Cap 70: no result has the post's exact number or date"), () => {
        describe(requirement('FS-24', 'No cap applies to opinions'), () => {
          test.each(cases<Capping>('caps'))('$name', ({ verdict, confidence, evidence, caps, left }) => {
            expect(applyCaps(verdict, confidence, evidence)).toEqual({ confidence: left, caps });
          });
        });
      });
    });
  });
});

describe(
  requirement('FS-23', "The lowest cap wins, confidence never rises, the card names caps and the model's number"),
  () => {
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
  },
);

describe(requirement('FS-17', 'Bands of confidence'), () => {
  describe(requirement('FS-18', 'A band that does not fit is a warning, never a rewrite'), () => {
    test.each(cases<{ verdict: Verdict; confidence: number; families: number; warning: WarningId | null }>('bands'))(
      '$verdict with $confidence and $families families',
      ({ verdict, confidence, families, warning }) => {
        expect(warnOfBand(verdict, confidence, families)).toBe(warning);
      },
    );
  });
});

describe(requirement('FS-40', 'Bands count families of sources, not pages'), () => {
  test.each(cases<{ name: string; hits: Hit[]; families: number }>('families'))('$name', ({ hits, families }) => {
    expect(countFamilies(hits)).toBe(families);
  });
});

describe(requirement('FS-5', "The prompt is followed by date, time and zone; the user's message is the post"), () => {
  test.each(cases<{ moment: string; zone: string; prompt: string; block: string; system: string }>('context'))(
    '$moment in $zone',
    ({ moment, zone, prompt, block, system }) => {
      expect(contextBlock(moment, zone)).toBe(block);
      expect(systemMessage(prompt, moment, zone)).toBe(system);
    },
  );
});

describe('the shape of a verdict', () => {
  const whole = {
    ...{ verdict: 'True', confidence: 85, summary: 'So.', caveats: 'None.' },
    ...{ claims: [{ claim: 'It is.', assessment: 'Yes.' }], sources: [{ title: 'A', url: 'https://a.example' }] },
  };
  const read = (changes: Record<string, unknown>): Answer | null => salvage(JSON.stringify({ ...whole, ...changes }));

  test(requirement('FS-13', 'A verdict has exactly six fields'), () => {
    expect([...ANSWER_SCHEMA.required].sort()).toEqual(Object.keys(whole).sort());
    expect(ANSWER_SCHEMA.additionalProperties).toBe(false);
    expect(read({ mood: 'good' })).toEqual(whole);
    for (const field of ['verdict', 'confidence', 'summary', 'claims', 'caveats']) {
      expect(read({ [field]: undefined }), field).toBeNull();
    }
  });

  test(requirement('FS-14', 'A verdict is one of seven words'), () => {
    const words = ['True', 'MostlyTrue', 'Mixed', 'Misleading', 'False', 'Unverifiable', 'Opinion'];
    expect(ANSWER_SCHEMA.properties.verdict.enum).toEqual(words);
    expect(words.map((verdict) => read({ verdict })?.verdict)).toEqual(words);
    expect([read({ verdict: 'mostly_true' })?.verdict, read({ verdict: 'Likely' })]).toEqual(['MostlyTrue', null]);
  });

  test(requirement('FS-15', 'Confidence is a whole number from 0 to 100, never rescaled'), () => {
    expect([0, 85, 100].map((confidence) => read({ confidence })?.confidence)).toEqual([0, 85, 100]);
    expect([0.85, 84.5, -1, 101, '85', null].map((confidence) => read({ confidence }))).toEqual(
      Array.from({ length: 6 }, () => null),
    );
    expect(salvage(JSON.stringify(whole).replace('85', '85.0'))?.confidence).toBe(85);
  });

  test(requirement('FS-16', 'Summary, claims with assessments, caveats, sources with addresses'), () => {
    expect(read({})).toEqual(whole);
    const wrong = [
      { summary: 1 },
      { claims: ['It is.'] },
      { claims: [{ claim: 'It is.' }] },
      { sources: [{ url: 'x' }] },
    ];
    expect(wrong.map(read)).toEqual([null, null, null, null]);
  });
});

test(requirement('FS-6', 'The shipped prompt states role, search duty, shape, rubric and caps'), () => {
  for (const word of [...ANSWER_SCHEMA.required, ...ANSWER_SCHEMA.properties.verdict.enum]) {
    expect(PROMPT).toContain(`"${word}"`);
  }
  for (const most of Object.values(LIMITS.caps)) expect(PROMPT).toContain(`at most ${most} if`);
  for (const band of ['90 to 100', '75 to 89', '60 to 74', '40 to 59', '20 to 39', '0 to 19']) {
    expect(PROMPT).toContain(`\n${band}: `);
  }
  for (const part of ['You take no side', 'several searches that differ in their wording', 'one JSON object']) {
    expect(PROMPT).toContain(part);
  }
});

test(requirement('FS-7', 'Search is compulsory but for opinions, jokes and personal experience'), () => {
  expect(PROMPT).toMatch(/have to use it before you judge .*events.*dates, statistics, prices or news/);
  expect(PROMPT).toContain('only if the post is an opinion, a joke or a personal experience');
});
