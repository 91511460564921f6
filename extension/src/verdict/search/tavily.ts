/** Tavily's search, with the reader's key. */
import { LIMITS } from '../given';
import { type EngineRules, listIn } from './engine';

export const tavily: EngineRules = {
  request: (query, key) => ({
    url: LIMITS.engines.tavily,
    init: {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
      body: JSON.stringify({ query, max_results: LIMITS.resultsPerSearch }),
    },
  }),
  read(body) {
    const results = listIn(body, 'results');
    return (
      results?.map(({ title, url, content: snippet, published_date: date }) => ({ title, url, snippet, date })) ?? null
    );
  },
};
