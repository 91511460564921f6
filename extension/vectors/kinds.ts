/**
 * What each kind of recorded case asks of our code. A kind is the `name` in a file; one that is not here is reported as
 * not run, never as passed.
 */

import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { type Chromium, NOWHERE } from './chromium';
import { correction, permission, refusal, unready, type Quote, type RecordedClaim, type Rule } from './differences';

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
  /** Why there was nothing to compare. */
  error?: string;
}

interface Kind {
  /** Where the page stands that the cases are put into; absent where each brings a page of its own. */
  readonly blank?: string;
  readonly judge: (chromium: Chromium, one: Case) => Promise<Verdict>;
}

const ARTICLE = 'https://en.wikipedia.org/wiki/Test';

const KINDS: Readonly<Record<string, Kind>> = {
  adapters: {
    async judge(chromium, { id, input, output }) {
      await chromium.open(input.url, input.html);
      const answer = await ask(chromium, 'extract', { mw: input.mw ?? null });
      const rule = unready(input, output, answer.result?.reason);
      return rule === null ? extractVerdict(id, answer, output) : verdict(id, true, [rule]);
    },
  },

  image_occurrences: {
    blank: NOWHERE,
    judge: async (chromium, { id, input, output }) =>
      verdict(id, isDeepStrictEqual(await ask(chromium, 'images', input), output)),
  },

  html_text: {
    blank: NOWHERE,
    async judge(chromium, { id, input, output, dom_output: kept }) {
      const recorded = kept === undefined ? output : typeof kept === 'string' ? { text: kept } : kept;
      return verdict(id, statesText(recorded, await ask(chromium, 'htmlText', input)));
    },
  },

  wikipedia_text: {
    blank: ARTICLE,
    async judge(chromium, { id, input, output, client }) {
      const { text, reading } = await ask(chromium, 'article', { html: input.html, url: ARTICLE });
      const sameClient = client === undefined || isDeepStrictEqual(asClient(reading), client);
      return verdict(id, statesText(output, text) && sameClient);
    },
  },

  wikipedia_pages: {
    async judge(chromium, { id, input, output }) {
      await chromium.openBlank(input.sourceUrl);
      const article = await ask(chromium, 'article', { html: input.parseApiHtml, url: input.sourceUrl });
      const passed =
        statesText(output, article.text) &&
        (!('imageOccurrences' in output) || isDeepStrictEqual(article.imageOccurrences, output.imageOccurrences));
      if (!passed || input.pageHtml === undefined || output.page_extract === undefined) return verdict(id, passed);
      await chromium.open(input.sourceUrl, input.pageHtml);
      const { result } = await ask(chromium, 'extract', { mw: null });
      return verdict(id, isDeepStrictEqual(result, output.page_extract));
    },
  },

  dom_mapper: {
    blank: NOWHERE,
    judge: async (chromium, one) => anchorVerdict(one, await ask(chromium, 'anchor', one.input)),
  },

  normalize: {
    blank: NOWHERE,
    judge: async (chromium, { id, input, output }) =>
      verdict(id, statesText({ ...output, text: output.normalized }, await ask(chromium, 'normalize', input))),
  },

  wikipedia_identity: {
    blank: NOWHERE,
    async judge(chromium, { id, input, output }) {
      const question = IDENTITY[input.fn as string];
      if (question === undefined) throw new Error(`nothing here answers ${input.fn}`);
      return verdict(id, isDeepStrictEqual(asIdentity(await ask(chromium, question, input)), output));
    },
  },
};

/** The kind of this name; null for one that nothing here can run. */
export function kindOf(name: string): Kind | null {
  return Object.hasOwn(KINDS, name) ? (KINDS[name] ?? null) : null;
}

/** Judge each case by itself: whatever one does to the page or to us is its own failure. */
export async function judgeAll({ blank, judge }: Kind, chromium: Chromium, cases: readonly Case[]): Promise<Verdict[]> {
  const verdicts: Verdict[] = [];
  let isFresh = false;
  for (const one of cases) {
    try {
      if (blank !== undefined && !isFresh) await chromium.openBlank(blank);
      isFresh = true;
      verdicts.push(await judge(chromium, one));
    } catch (error) {
      isFresh = false;
      const [said = ''] = String(error instanceof Error ? error.message : error).split('\n');
      verdicts.push({ ...verdict(one.id, false), error: said });
      await chromium.renew();
    }
  }
  return verdicts;
}

async function ask(chromium: Chromium, question: string, input: unknown): Promise<any> {
  const [answer] = await chromium.ask(question, [input]);
  return answer;
}

const IDENTITY: Readonly<Record<string, string>> = {
  parseWikipediaIdentity: 'articleUrl',
  normalizeWikipediaTitleToken: 'titleToken',
  isExcludedWikipediaSectionTitle: 'isExcludedSection',
  shouldExcludeWikipediaElement: 'isExcludedElement',
};

function verdict(id: string, passed: boolean, rules: Rule[] = []): Verdict {
  return { id, passed, rules: passed ? rules : [] };
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
        : permission(page, own, quote);
    if (rule === null) passed = false;
    else rules.push(rule);
  });
  return verdict(id, passed, rules);
}
