import { describe, expect, it } from 'vitest';

import { requirement } from '../requirement';
import { BASE, CONTENT, FakeEnvironment, investigate, NOT_INVESTIGATED, pageContent, queued, tab } from './fakes';

const COMMON = { 'x-openerrata-extension-version': '1.0.0', 'x-api-key': 'instance' };

/** What a server of docs/protocol.md gets, in this order. The signatures are HMACs of these bodies with the bundled secret. */
const RECORDED = [
  {
    url: `${BASE}/trpc/post.registerObservedVersion`,
    headers: {
      ...COMMON,
      'content-type': 'application/json',
      'x-openerrata-signature': '5a11aa1bfe6381ec5336d42f6fabb1f91967569afce1ac758eccc8ea804b9f35',
    },
    body: JSON.stringify({
      platform: 'X',
      url: CONTENT.url,
      externalId: '20',
      observedContentText: CONTENT.contentText,
      metadata: CONTENT.metadata,
    }),
  },
  {
    url: `${BASE}/trpc/post.recordViewAndGetStatus`,
    headers: {
      ...COMMON,
      'content-type': 'application/json',
      'x-openerrata-signature': '5ea133e441fc395f6cd5968dd29c6414a62967ea58f7218e04cd55414f6a03c5',
    },
    body: '{"postVersionId":"v1"}',
  },
  {
    url: `${BASE}/trpc/post.investigateNow`,
    headers: {
      ...COMMON,
      'content-type': 'application/json',
      'x-openai-api-key': 'sk-own',
      'x-openerrata-signature': '5ea133e441fc395f6cd5968dd29c6414a62967ea58f7218e04cd55414f6a03c5',
    },
    body: '{"postVersionId":"v1"}',
  },
  {
    url: `${BASE}/trpc/post.getInvestigation?input=%7B%22investigationId%22%3A%22i1%22%7D`,
    headers: COMMON,
    body: null,
  },
];

describe(requirement('TR-28', 'The specified protocol is unchanged for full reading and for other clients'), () => {
  it('is spoken as it was recorded', async () => {
    const environment = new FakeEnvironment();
    environment.area.items.set('apiKey', 'instance');
    environment.area.items.set('openaiApiKey', 'sk-own');
    const urls: string[] = [];
    const { server } = environment;
    const fetch = server.fetch.bind(server);
    server.fetch = async (url, init) => {
      urls.push(url);
      return fetch(url, init);
    };
    server.says('post.investigateNow', queued());
    server.says('post.getInvestigation', NOT_INVESTIGATED);
    const worker = await environment.begin();
    await worker.receive(pageContent(), tab(1));
    await investigate(worker);
    await worker.poll();
    const sent = server.requests.map(({ headers, body }, index) => ({
      url: urls[index],
      headers: Object.fromEntries(headers),
      body,
    }));
    expect(sent.slice(0, 4)).toEqual(RECORDED);
    expect(new Set(urls)).toEqual(new Set(RECORDED.map(({ url }) => url)));
  });
});
