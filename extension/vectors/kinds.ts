/**
 * What each kind of recorded case asks of our code. A kind is the `name` in a file; one that is not here is reported as
 * not run, never as passed.
 */

import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { type Chromium } from './chromium';
import { correction, permission, refusal, type Quote, type RecordedClaim, type Rule } from './differences';

/* eslint-disable @typescript-eslint/no-explicit-any -- recorded data, of any shape until compared */
export interface Case {
  id: string;
  input: any;
  output: any;
  [more: string]: any;
}

/** `rules`: the decisions of ours that explain where a passed case was recorded differently. */
export interface Verdict {
  id: string;
  passed: boolean;
  rules: Rule[];
}

type Kind = (chromium: Chromium, cases: readonly Case[]) => Promise<Verdict[]>;

export const KINDS: Readonly<Record<string, Kind>> = {
  adapters: async (chromium, cases) => {
    const verdicts: Verdict[] = [];
    for (const one of cases) {
      await chromium.open(one.input.url, one.input.html);
      const [answer] = await chromium.ask('extract', [{ mw: one.input.mw ?? null }]);
      verdicts.push(extractVerdict(one.id, answer, one.output));
    }
    return verdicts;
  },

  image_occurrences: async (chromium, cases) => {
    await chromium.openBlank();
    return compared(cases, await chromium.ask('images', inputs(cases)), (one) => one.output);
  },

  html_text: async (chromium, cases) => {
    await chromium.openBlank();
    const texts = await chromium.ask('htmlText', inputs(cases));
    return cases.map(({ id, output, dom_output: kept }, index) => {
      const recorded = kept === undefined ? output : typeof kept === 'string' ? { text: kept } : kept;
      return verdict(id, statesText(recorded, texts[index] as string));
    });
  },

  wikipedia_text: async (chromium, cases) => {
    const url = 'https://en.wikipedia.org/wiki/Test';
    await chromium.openBlank(url);
    const answers = await chromium.ask('article', cases.map(({ input }) => ({ html: input.html, url })));
    return cases.map(({ id, output, client }, index) => {
      const { text, reading } = answers[index] as any;
      const sameClient = client === undefined || isDeepStrictEqual(asClient(reading), client);
      return verdict(id, statesText(output, text) && sameClient);
    });
  },

  wikipedia_pages: async (chromium, cases) => {
    const verdicts: Verdict[] = [];
    for (const { id, input, output } of cases) {
      await chromium.openBlank(input.sourceUrl);
      const [article] = (await chromium.ask('article', [{ html: input.parseApiHtml, url: input.sourceUrl }])) as any[];
      let passed =
        statesText(output, article.text) &&
        (!('imageOccurrences' in output) || isDeepStrictEqual(article.imageOccurrences, output.imageOccurrences));
      if (passed && input.pageHtml !== undefined && output.page_extract !== undefined) {
        await chromium.open(input.sourceUrl, input.pageHtml);
        const [answer] = (await chromium.ask('extract', [{ mw: null }])) as any[];
        passed = isDeepStrictEqual(answer.result, output.page_extract);
      }
      verdicts.push(verdict(id, passed));
    }
    return verdicts;
  },

  dom_mapper: async (chromium, cases) => {
    await chromium.openBlank();
    const answers = (await chromium.ask('anchor', inputs(cases))) as any[];
    return cases.map((one, index) => anchorVerdict(one, answers[index]));
  },

  normalize: async (chromium, cases) => {
    await chromium.openBlank();
    const texts = await chromium.ask('normalize', inputs(cases));
    return cases.map(({ id, output }, index) =>
      verdict(id, statesText({ ...output, text: output.normalized }, texts[index] as string)),
    );
  },

  wikipedia_identity: async (chromium, cases) => {
    await chromium.openBlank();
    const verdicts: Verdict[] = [];
    for (const { id, input, output } of cases) {
      const question = IDENTITY[input.fn as string];
      const [answer] = question === undefined ? [] : ((await chromium.ask(question, [input])) as any[]);
      verdicts.push(verdict(id, question !== undefined && isDeepStrictEqual(asIdentity(answer), output)));
    }
    return verdicts;
  },
};

const IDENTITY: Readonly<Record<string, string>> = {
  parseWikipediaIdentity: 'articleUrl',
  normalizeWikipediaTitleToken: 'titleToken',
  isExcludedWikipediaSectionTitle: 'isExcludedSection',
  shouldExcludeWikipediaElement: 'isExcludedElement',
};

function inputs(cases: readonly Case[]): unknown[] {
  return cases.map((one) => one.input);
}

function verdict(id: string, passed: boolean, rules: Rule[] = []): Verdict {
  return { id, passed, rules: passed ? rules : [] };
}

function compared(cases: readonly Case[], answers: readonly unknown[], expected: (one: Case) => unknown): Verdict[] {
  return cases.map((one, index) => verdict(one.id, isDeepStrictEqual(answers[index], expected(one))));
}

/** Whether a text, its hash and its length are those recorded, as far as they are. */
function statesText(recorded: any, text: string): boolean {
  const hash = createHash('sha256').update(text, 'utf8').digest('hex');
  return (
    text === recorded.text &&
    (recorded.sha256 ?? hash) === hash &&
    (recorded.length_utf16 ?? text.length) === text.length
  );
}

/** A page as recorded; where it holds scripts, the record counted their words and ours must differ in nothing else. */
function extractVerdict(id: string, answer: any, output: any): Verdict {
  const { withScripts, ...ours } = answer;
  if (isDeepStrictEqual(ours, output)) return verdict(id, true);
  if (!withScripts) return verdict(id, false);
  const { text: contentText, ...pictures } = withScripts;
  const content = { ...ours.result.content, contentText, ...pictures };
  const counted = { ...ours, result: { ...ours.result, content } };
  return verdict(id, isDeepStrictEqual(counted, output), ['never_text']);
}

function asClient(reading: any): unknown {
  if (reading?.kind !== 'ready') return null;
  const { imageOccurrences, mediaState, metadata } = reading.content;
  return { imageOccurrences, mediaState, htmlContent: metadata.htmlContent };
}

function asIdentity(answer: any): unknown {
  if (answer === null || typeof answer !== 'object') return answer;
  const { language, title, pageId } = answer;
  return {
    language,
    title,
    pageId,
    identityKind: pageId === null ? 'TITLE' : 'PAGE_ID',
    externalId: `${language}:${pageId ?? title}`,
  };
}

function anchorVerdict({ id, input, output }: Case, ours: any): Verdict {
  const holdsScripts = ours.raw !== output.raw_text && ours.everything === output.raw_text;
  const rules: Rule[] = holdsScripts ? ['never_text'] : [];
  const samePage = ours.raw === output.raw_text && ours.normalized === output.normalized_text;
  let passed = samePage || holdsScripts;
  const page = { raw: output.raw_text as string, checked: ours.checked as string, holdsScripts };
  (output.claims as RecordedClaim[]).forEach((recorded, index) => {
    const quote = input.claims[index] as Quote;
    const own = ours.claims[index];
    const isShown = own.outcome === 'anchored';
    if (!recorded.matched && !isShown) return;
    const samePlace = holdsScripts || (own.start === recorded.start && own.end === recorded.end);
    if (recorded.matched && isShown && samePlace && own.range === recorded.range_text) return;
    const rule = !isShown
      ? refusal(page, recorded, quote)
      : recorded.matched
        ? correction(page, recorded, own, quote)
        : permission(page, own.range, quote);
    if (rule === null) passed = false;
    else rules.push(rule);
  });
  return verdict(id, passed, rules);
}
