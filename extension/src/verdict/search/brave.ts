/** Brave's search, with the reader's key. */
import { LIMITS } from '../given';
import { type EngineRules, listIn, textOfHtml } from './engine';

export const brave: EngineRules = {
  request: (query, key) => ({
    url: `${LIMITS.engines.brave}?q=${encodeURIComponent(query)}&count=${LIMITS.resultsPerSearch}`,
    init: { method: 'GET', headers: { accept: 'application/json', 'x-subscription-token': key } },
  }),
  read(body) {
    // An answer without pages has no `web`.
    const results = listIn(body, 'web', 'results') ?? (isAnswer(body) ? [] : null);
    return (
      results?.map(({ title, url, description, page_age: date }) => ({
        title: textOfHtml(title),
        url,
        snippet: textOfHtml(description),
        date,
      })) ?? null
    );
  },
};

function isAnswer(body: string): boolean {
  try {
    const value = JSON.parse(body) as { type?: unknown; web?: unknown } | null;
    return value?.type === 'search' && value.web === undefined;
  } catch {
    return false;
  }
}
