// @vitest-environment happy-dom
/** Pages and documents as the search engines answer them. */
import { describe, expect, test } from 'vitest';

import type { EngineName } from '../../src/verdict/check';
import { LIMITS } from '../../src/verdict/given';
import type { SearchAnswer } from '../../src/verdict/ports';
import { chosenEngine } from '../../src/verdict/search';
import { requirement } from '../requirement';

interface Asked {
  readonly url: string;
  readonly init: RequestInit;
}

async function search(
  name: EngineName,
  answer: Response | Error | (() => Promise<Response>),
  asked: Asked[] = [],
): Promise<SearchAnswer> {
  const clock = { after: () => () => undefined };
  const send = async (url: string, init: RequestInit): Promise<Response> => {
    asked.push({ url, init });
    if (answer instanceof Error) throw answer;
    return answer instanceof Response ? answer : answer();
  };
  return chosenEngine(name, 'key', send, clock).search('moon & cheese', new AbortController().signal);
}

const redirect = (to: string): string => `//duckduckgo.com/l/?uddg=${encodeURIComponent(to)}&rut=1`;

function result(href: string, title: string, snippet: string): string {
  return `<div class="result results_links web-result"><h2><a class="result__a" href="${href}">${title}</a></h2>
    <a class="result__snippet" href="${href}">${snippet}</a></div>`;
}

function page(...results: string[]): Response {
  return new Response(
    `<!doctype html><html><body><div id="links" class="results">${results.join('')}</div></body></html>`,
  );
}

describe('DuckDuckGo', () => {
  test('is asked with the query alone', async () => {
    const asked: Asked[] = [];
    await search('duckduckgo', page(), asked);
    expect(asked).toMatchObject([
      {
        url: 'https://html.duckduckgo.com/html/?q=moon%20%26%20cheese',
        init: { method: 'GET', credentials: 'omit', redirect: 'manual', referrerPolicy: 'no-referrer' },
      },
    ]);
    expect(JSON.stringify(asked)).not.toContain('key');
  });

  test('has results, without advertisements, tags and runs of white space', async () => {
    const answer = page(
      result(redirect('https://moon.example/a?b=c&d'), 'The <b>Moon</b>\n  rock', 'No  <b>cheese</b> &amp; no milk'),
      result('https://duckduckgo.com/y.js?ad_domain=shop.example', 'Buy cheese', 'Now'),
      result('https://plain.example/', 'Plain', ''),
      result('javascript:alert(1)', 'Script', 'x'),
      result(redirect('ftp://files.example/'), 'Files', 'x'),
    );
    expect(await search('duckduckgo', answer)).toEqual({
      ok: true,
      results: [
        { title: 'The Moon rock', url: 'https://moon.example/a?b=c&d', snippet: 'No cheese & no milk' },
        { title: 'Plain', url: 'https://plain.example/', snippet: '' },
      ],
    });
  });

  test('has at most ten results, with titles and snippets of limited length', async () => {
    const many = Array.from({ length: 14 }, (_, n) =>
      result(`https://${n}.example/`, '😀'.repeat(300), 'x'.repeat(900)),
    );
    const title = '😀'.repeat(LIMITS.titleCharacters);
    const found = await search('duckduckgo', page(...many));
    expect(found.ok && found.results.map((hit) => [hit.title === title, hit.snippet.length])).toEqual(
      Array.from({ length: LIMITS.resultsPerSearch }, () => [true, LIMITS.snippetCharacters]),
    );
  });

  test.each([
    ['found nothing', '<div id="links"><div class="no-results">No results.</div></div>'],
    [
      'found nothing, as a result',
      '<div class="results"><div class="result"><div class="no-results">No.</div></div></div>',
    ],
  ])('%s', async (_name, html) => {
    expect(await search('duckduckgo', new Response(html))).toEqual({ ok: true, results: [] });
  });

  test.each([
    ['a challenge', new Response('<div id="links"><div class="anomaly-modal">Ducks</div></div>', { status: 202 })],
    ['a page without any of its marks', new Response('<div class="anomaly-modal">Select all ducks</div>')],
    [
      'results that have changed their form',
      new Response('<div class="result"><a href="https://a.example">A</a></div>'),
    ],
    ['an empty answer', new Response('')],
    ['an error', new Response('no', { status: 503 })],
    ['a redirection', new Response(null, { status: 302, headers: { location: 'https://elsewhere.example' } })],
    ['no connection', new TypeError('failed')],
    ['too much', new Response('<div id="links">'.padEnd(LIMITS.searchBytes + 1))],
  ])('fails with %s', async (_name, answer) => {
    expect(await search('duckduckgo', answer)).toMatchObject({ ok: false });
  });
});

describe('Brave', () => {
  test('is asked with the key in its own header', async () => {
    const asked: Asked[] = [];
    await search('brave', Response.json({ type: 'search' }), asked);
    expect(asked).toMatchObject([
      {
        url: 'https://api.search.brave.com/res/v1/web/search?q=moon%20%26%20cheese&count=10',
        init: { method: 'GET', headers: { accept: 'application/json', 'x-subscription-token': 'key' } },
      },
    ]);
  });

  test('has results, with characters for entities and days where it knows them', async () => {
    const results = [
      {
        title: 'Moon &amp; <strong>cheese</strong>',
        url: 'https://a.example/',
        description: 'No <strong>cheese</strong> &lt; 1 &#x27;x&#x27;',
        page_age: '2024-05-02T12:00:00',
      },
      { title: 'Old', url: 'https://b.example/', description: 'x', page_age: 'May 3, 2020 10:00 UTC' },
      { url: 'https://c.example/', page_age: 'soon' },
      { title: 'No address', description: 'x' },
      'nonsense',
    ];
    expect(await search('brave', Response.json({ web: { results } }))).toEqual({
      ok: true,
      results: [
        { title: 'Moon & cheese', url: 'https://a.example/', snippet: "No cheese < 1 'x'", date: '2024-05-02' },
        { title: 'Old', url: 'https://b.example/', snippet: 'x', date: '2020-05-03' },
        { title: 'c.example', url: 'https://c.example/', snippet: '' },
      ],
    });
  });

  test.each([
    [
      { type: 'search', query: {} },
      { ok: true, results: [] },
    ],
    [{ web: { results: [] } }, { ok: true, results: [] }],
    [{}, { ok: false }],
    [{ web: {} }, { ok: false }],
    [[], { ok: false }],
    [null, { ok: false }],
  ])('answers %j', async (body, answer) => expect(await search('brave', Response.json(body))).toMatchObject(answer));
});

describe('Tavily', () => {
  test('is asked with the key as a bearer', async () => {
    const asked: Asked[] = [];
    await search('tavily', Response.json({ results: [] }), asked);
    expect(asked).toMatchObject([
      {
        url: 'https://api.tavily.com/search',
        init: {
          method: 'POST',
          headers: { authorization: 'Bearer key' },
          body: '{"query":"moon & cheese","max_results":10}',
        },
      },
    ]);
  });

  test('has results', async () => {
    const results = [
      { title: 'Moon', url: 'https://a.example/', content: 'A  < B', published_date: 'Thu, 02 May 2024 23:00:00 GMT' },
      { title: 'Bad', url: 'file:///etc/passwd', content: 'x' },
    ];
    expect(await search('tavily', Response.json({ results }))).toEqual({
      ok: true,
      results: [{ title: 'Moon', url: 'https://a.example/', snippet: 'A < B', date: '2024-05-02' }],
    });
  });

  test.each([
    ['{}', 'the answer of the search could not be read'],
    ['{"results": 1}', 'the answer of the search could not be read'],
    ['<html>', 'the answer of the search could not be read'],
  ])('fails with %s', async (body, error) => {
    expect(await search('tavily', new Response(body))).toEqual({ ok: false, error });
  });

  test('fails with a refused key', async () => {
    expect(await search('tavily', new Response('', { status: 401 }))).toEqual({
      ok: false,
      error: 'the search answered 401',
    });
  });
});

test(requirement('FS-4', 'Exactly one search is active: DuckDuckGo, Brave, Tavily or none'), async () => {
  for (const name of ['duckduckgo', 'brave', 'tavily'] as const) {
    const asked: Asked[] = [];
    await search(name, page(), asked);
    expect(asked.map(({ url }) => url.startsWith(LIMITS.engines[name]))).toEqual([true]);
  }
  const asked: Asked[] = [];
  expect(await search('none', page(), asked)).toMatchObject({ ok: false });
  expect(asked).toEqual([]);
});

test(requirement('FS-35', 'Keys go into the headers to their own host and nowhere else'), async () => {
  for (const name of ['brave', 'tavily'] as const) {
    const asked: Asked[] = [];
    await search(name, page(), asked);
    expect(asked.map(({ url }) => new URL(url).host)).toEqual([new URL(LIMITS.engines[name]).host]);
    const [{ url, init }] = asked as [Asked];
    const holding = [...new Headers(init.headers).values()].filter((value) => /\bkey\b/.test(value));
    expect(holding).toHaveLength(1);
    expect(JSON.stringify([url, init.body ?? null])).not.toContain('key');
  }
});

test('a search that takes too long fails', async () => {
  let ring = (): void => undefined;
  const clock = { after: (_ms: number, call: () => void) => ((ring = call), () => undefined) };
  const send = (_url: string, { signal }: RequestInit): Promise<Response> =>
    new Promise((_resolve, reject) => signal!.addEventListener('abort', () => reject(new Error('aborted'))));
  const found = chosenEngine('duckduckgo', '', send, clock).search('a', new AbortController().signal);
  ring();
  expect(await found).toEqual({ ok: false, error: 'the search took too long' });
});
