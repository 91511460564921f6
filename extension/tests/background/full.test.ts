import { readFileSync } from 'node:fs';

import { describe, expect, it } from 'vitest';

import { requirement } from '../requirement';
import { BASE, CONTENT, FakeEnvironment, investigate, pageContent, tab } from './fakes';

interface Exchange {
  readonly name: string;
  readonly request: {
    readonly method: string;
    readonly path: string;
    readonly headers: Record<string, string>;
    readonly body: string | null;
  };
  readonly response: { readonly status: number; readonly body: { readonly result: { readonly data: unknown } } };
}

/** What the gateway's tests send in the same words, without a decision log and with one, and what it answers. */
const RECORDED = JSON.parse(
  readFileSync(new URL('../../../tests/cases/protocol.json', import.meta.url), 'utf8'),
) as Exchange[];
const OURS = [
  'the present extension registers a post',
  'the present extension views it',
  'the present extension requests an investigation',
  'the present extension asks how it goes',
].map((name) => RECORDED.find((exchange) => exchange.name === name)!);
const POST = {
  ...CONTENT,
  externalId: '1234567890',
  url: 'https://x.com/someone/status/1234567890',
  contentText: 'Alpha beta',
  metadata: { authorHandle: 'someone', text: 'Alpha beta', mediaUrls: [] },
};

describe(requirement('TR-28', 'The specified protocol is unchanged for full reading and for other clients'), () => {
  it('is spoken as it was recorded', async () => {
    const environment = new FakeEnvironment();
    environment.area.items.set('apiKey', OURS[2]!.request.headers['x-api-key']);
    environment.area.items.set('openaiApiKey', OURS[2]!.request.headers['x-openai-api-key']);
    const urls: string[] = [];
    const { server } = environment;
    const fetch = server.fetch.bind(server);
    server.fetch = async (url, init) => {
      urls.push(url);
      return fetch(url, init);
    };
    for (const { request, response } of OURS) {
      server.says(request.path.split('?')[0]!.replace('/trpc/', ''), response.body.result.data);
    }
    const worker = await environment.begin();
    await worker.receive(pageContent('s1', 0, POST), tab(1, POST.url));
    await investigate(worker);
    await worker.poll();
    const sent = server.requests.map(({ method, headers, body }, index) => ({
      method,
      path: urls[index]!.replace(BASE, ''),
      headers: Object.fromEntries(headers),
      body,
    }));
    expect(sent.slice(0, 4)).toEqual(OURS.map(({ request }) => request));
    expect(new Set(sent.map(({ path }) => path))).toEqual(new Set(OURS.map(({ request }) => request.path)));
    expect(environment.statesOf(1).at(-1)).toBe('investigating');
  });
});
