/** What the search engines have in common: one request, within limits of time and size, and results made of its answer. */
import { readText } from '../body';
import type { Fetch } from '../chat';
import { isDay } from '../figures';
import { LIMITS } from '../given';
import type { Clock, SearchAnswer, SearchEngine } from '../ports';
import type { Hit } from '../sources';
import { collapse, cut, wellFormed } from '../text';

/** One engine: its request, and the results of its answer; null where the answer cannot be read. */
export interface EngineRules {
  request(query: string, key: string): { readonly url: string; readonly init: RequestInit };
  read(body: string): readonly RawHit[] | null;
}

/** A result as the engine words it. */
export interface RawHit {
  readonly title: unknown;
  readonly url: unknown;
  readonly snippet: unknown;
  readonly date?: unknown;
}

export function searchEngine(rules: EngineRules, key: string, fetch: Fetch, clock: Clock): SearchEngine {
  return {
    async search(query, signal) {
      const late = new AbortController();
      const stop = clock.after(LIMITS.searchS * 1_000, () => late.abort());
      try {
        return await request(rules, query, key, fetch, AbortSignal.any([signal, late.signal]));
      } catch {
        return failed(late.signal.aborted ? 'the search took too long' : 'the search could not be reached');
      } finally {
        stop();
      }
    },
  };
}

async function request(
  rules: EngineRules,
  query: string,
  key: string,
  fetch: Fetch,
  signal: AbortSignal,
): Promise<SearchAnswer> {
  const { url, init } = rules.request(query, key);
  const response = await fetch(url, {
    ...init,
    credentials: 'omit',
    cache: 'no-store',
    redirect: 'manual',
    referrerPolicy: 'no-referrer',
    signal,
  });
  if (response.status !== 200) {
    void response.body?.cancel().catch(() => undefined);
    return failed(response.status === 0 ? 'the search answered elsewhere' : `the search answered ${response.status}`);
  }
  const body = await readText(response, LIMITS.searchBytes);
  const read = body === null ? null : rules.read(body);
  if (read === null) return failed('the answer of the search could not be read');
  return { ok: true, results: read.flatMap(toHit).slice(0, LIMITS.resultsPerSearch) };
}

function toHit({ title, url, snippet, date }: RawHit): Hit[] {
  if (typeof url !== 'string' || !/^https?:\/\//i.test(url) || !URL.canParse(url)) return [];
  const day = dayOf(date);
  return [
    {
      title: shorten(title, LIMITS.titleCharacters) || new URL(url).hostname,
      url: wellFormed(url),
      snippet: shorten(snippet, LIMITS.snippetCharacters),
      ...(day === null ? {} : { date: day }),
    },
  ];
}

function shorten(text: unknown, most: number): string {
  return typeof text === 'string' ? cut(collapse(wellFormed(text)), most) : '';
}

function dayOf(date: unknown): string | null {
  if (typeof date !== 'string') return null;
  if (isDay(date.slice(0, 10))) return date.slice(0, 10);
  const moment = new Date(date);
  return Number.isNaN(moment.getTime()) ? null : moment.toISOString().slice(0, 10);
}

/** The objects of a list within JSON; null if there is no such list. */
export function listIn(body: string, ...path: readonly string[]): readonly Readonly<Record<string, unknown>>[] | null {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return null;
  }
  for (const key of path) value = isObject(value) ? value[key] : undefined;
  return Array.isArray(value) ? (value as unknown[]).filter(isObject) : null;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Words without tags, and with characters for entities. Nothing in them is loaded or run. */
export function textOfHtml(html: unknown): string {
  if (typeof html !== 'string') return '';
  return new DOMParser().parseFromString(html, 'text/html').body.textContent;
}

function failed(error: string): SearchAnswer {
  return { ok: false, error };
}
