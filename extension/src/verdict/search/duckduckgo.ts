/** DuckDuckGo's page for browsers without scripts. It has no stable interface: its answers may change, or be a challenge. */
import { LIMITS } from '../given';
import type { EngineRules, RawHit } from './engine';

export const duckduckgo: EngineRules = {
  request: (query) => ({ url: `${LIMITS.engines.duckduckgo}?q=${encodeURIComponent(query)}`, init: { method: 'GET' } }),
  read(body) {
    const page = new DOMParser().parseFromString(body, 'text/html');
    const results = [...page.querySelectorAll('.result')];
    if (results.length === 0) return page.querySelector('.no-results, #links, .results') === null ? null : [];
    const links = results.map((result) => result.querySelector('a.result__a'));
    if (links.every((link) => link === null)) return page.querySelector('.no-results') === null ? null : [];
    return results.flatMap((result, index) => readResult(result, links[index]!));
  },
};

function readResult(result: Element, link: Element | null): RawHit[] {
  const url = targetOf(link?.getAttribute('href') ?? null);
  if (url === null) return [];
  return [{ title: link!.textContent, url, snippet: result.querySelector('.result__snippet')?.textContent ?? '' }];
}

/** Where a result leads; null for what stays at DuckDuckGo, which are advertisements. */
function targetOf(href: string | null): string | null {
  if (href === null || !URL.canParse(href, LIMITS.engines.duckduckgo)) return null;
  const url = new URL(href, LIMITS.engines.duckduckgo);
  if (url.hostname !== 'duckduckgo.com' && !url.hostname.endsWith('.duckduckgo.com')) return url.href;
  return url.pathname === '/l/' ? url.searchParams.get('uddg') : null;
}
