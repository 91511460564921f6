import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { attest } from '../../src/background/attestation';
import { type Access, callProcedure } from '../../src/background/server';
import { serverAddress } from '../../src/settings/address';
import { BASE, failure, FakeServer, NOT_INVESTIGATED, ok, queued, REGISTERED } from './fakes';

const access: Access = {
  address: serverAddress(`${BASE}/prefix/`),
  version: '1.2.3',
  apiKey: 'instance',
  openaiApiKey: 'sk-own',
  hmacSecret: '',
};

const outcome = async (
  answer: Response | Promise<Response>,
  change: (server: FakeServer) => void = () => undefined,
) => {
  const server = new FakeServer();
  server.answers['post.recordViewAndGetStatus'] = () => answer;
  change(server);
  const asked = await callProcedure(server, access, 'post.recordViewAndGetStatus', { postVersionId: 'v1' });
  return asked.ok ? 'ok' : asked.problem;
};

describe('a request', () => {
  it('of a mutation is a signed body, without the reader’s own key', async () => {
    const server = new FakeServer();
    let seen: [string, RequestInit] | undefined;
    const fetch = async (url: string, init: RequestInit) => ((seen = [url, init]), ok(NOT_INVESTIGATED));
    await callProcedure(
      { fetch, isOnline: () => true, hasPermission: () => server.hasPermission() },
      access,
      'post.recordViewAndGetStatus',
      { postVersionId: 'é' },
    );
    const [url, init] = seen!;
    expect(url).toBe(`${BASE}/prefix/trpc/post.recordViewAndGetStatus`);
    const body = '{"postVersionId":"é"}';
    expect(Object.fromEntries(new Headers(init.headers))).toEqual({
      'content-type': 'application/json',
      'x-api-key': 'instance',
      'x-openerrata-extension-version': '1.2.3',
      'x-openerrata-signature': createHmac('sha256', 'openerrata-attestation-v1').update(body).digest('hex'),
    });
    expect(init).toMatchObject({
      method: 'POST',
      body,
      credentials: 'omit',
      redirect: 'manual',
      referrerPolicy: 'no-referrer',
    });
  });

  it('has a mark in place of half a surrogate pair, which the server refuses', async () => {
    const server = new FakeServer();
    const input = { url: 'u', metadata: { title: 'cut \ud83d', tags: ['\ude00', '😀'] } };
    await callProcedure(server, access, 'post.registerObservedVersion', input);
    expect(server.requests[0]?.input).toEqual({ url: 'u', metadata: { title: 'cut \ufffd', tags: ['\ufffd', '😀'] } });
  });

  it('of a query is an address, unsigned', async () => {
    const server = new FakeServer();
    server.answers['post.getInvestigation'] = () => failure('INTERNAL_SERVER_ERROR', 500);
    await callProcedure(server, access, 'post.getInvestigation', { investigationId: 'a&b=é' });
    const [request] = server.requests;
    expect(request).toMatchObject({ method: 'GET', body: null, input: { investigationId: 'a&b=é' } });
    expect([...request!.headers.keys()]).toEqual(['x-api-key', 'x-openerrata-extension-version']);
  });

  it('of a query without input has none', async () => {
    const server = new FakeServer();
    server.says('post.validateSettings', { instanceApiKeyAccepted: true, openaiApiKeyStatus: 'valid' });
    await callProcedure(server, access, 'post.validateSettings');
    expect(server.requests[0]).toMatchObject({ input: undefined });
    expect(server.requests[0]!.headers.get('x-openai-api-key')).toBe('sk-own');
  });

  it('carries the reader’s own key to an investigation, and no empty header', async () => {
    const server = new FakeServer();
    server.says('post.investigateNow', queued());
    await callProcedure(server, access, 'post.investigateNow', { postVersionId: 'v1' });
    await callProcedure(server, { ...access, apiKey: '', openaiApiKey: '' }, 'post.investigateNow', {
      postVersionId: 'v1',
    });
    expect(server.requests.map(({ headers }) => [headers.get('x-api-key'), headers.get('x-openai-api-key')])).toEqual([
      ['instance', 'sk-own'],
      [null, null],
    ]);
  });

  it('that is too large is not sent', async () => {
    const server = new FakeServer();
    server.says('post.registerObservedVersion', REGISTERED);
    const send = (length: number, letter = 'a') =>
      callProcedure(server, access, 'post.registerObservedVersion', { text: letter.repeat(length) });
    const frame = '{"text":""}'.length;
    expect(await send(512 * 1024 - frame + 1)).toEqual({ ok: false, problem: { kind: 'too_large' } });
    expect(await send(256 * 1024, 'é')).toEqual({ ok: false, problem: { kind: 'too_large' } });
    expect(server.requests).toHaveLength(0);
    expect((await send(512 * 1024 - frame)).ok).toBe(true);
  });
});

describe('an answer', () => {
  it.each([
    [
      '412 with the version',
      () =>
        failure('PRECONDITION_FAILED', 412, {
          openerrataCode: 'UPGRADE_REQUIRED',
          minimumSupportedExtensionVersion: '2.0.0',
        }),
      { kind: 'upgrade_required', minimumVersion: '2.0.0' },
    ],
    [
      '412 without',
      () => failure('PRECONDITION_FAILED', 412, { openerrataCode: 'UPGRADE_REQUIRED' }),
      { kind: 'upgrade_required', minimumVersion: null },
    ],
    [
      'malformed version',
      () => failure('BAD_REQUEST', 400, { openerrataCode: 'MALFORMED_EXTENSION_VERSION' }),
      { kind: 'malformed_version' },
    ],
    ['413 in any words', () => new Response('<h1>too large</h1>', { status: 413 }), { kind: 'too_large' }],
    ['413 by code', () => failure('PAYLOAD_TOO_LARGE', 413), { kind: 'too_large' }],
    ['401', () => failure('UNAUTHORIZED', 401), { kind: 'unauthorized' }],
    ['an erased post', () => failure('BAD_REQUEST', 400, { openerrataCode: 'POST_FORGOTTEN' }), { kind: 'erased' }],
    ['400', () => failure('BAD_REQUEST', 400), { kind: 'refused' }],
    ['404 of ours', () => failure('NOT_FOUND', 404), { kind: 'not_openerrata' }],
    ['404 of somebody else', () => Response.json({ message: 'no' }, { status: 404 }), { kind: 'not_openerrata' }],
    ['404 as a page', () => new Response('<h1>no</h1>', { status: 404 }), { kind: 'not_openerrata' }],
    ['429', () => failure('TOO_MANY_REQUESTS', 429), { kind: 'server_down' }],
    ['500', () => failure('INTERNAL_SERVER_ERROR', 500), { kind: 'server_down' }],
    ['502 as a page', () => new Response('<h1>bad gateway</h1>', { status: 502 }), { kind: 'server_down' }],
    ['503 in other JSON', () => Response.json({ message: 'no' }, { status: 503 }), { kind: 'server_down' }],
    ['200 as a page', () => new Response('<h1>log in to the hotel</h1>'), { kind: 'server_down' }],
    ['200 with sense missing', () => ok({ investigationState: 'CLEAN' }), { kind: 'bad_answer' }],
    ['200 with an error inside', () => Response.json({ error: {} }), { kind: 'bad_answer' }],
    ['400 without an envelope', () => Response.json({ message: 'no' }, { status: 400 }), { kind: 'bad_answer' }],
    ['good', () => ok(NOT_INVESTIGATED), 'ok'],
  ])('%s', async (_, answer, expected) => expect(await outcome(answer())).toEqual(expected));

  it('that leads elsewhere is not followed', async () => {
    const elsewhere = { type: 'opaqueredirect', status: 0, body: null } as unknown as Response;
    expect(await outcome(elsewhere)).toEqual({ kind: 'not_openerrata' });
  });

  it('that does not come is reported with its cause', async () => {
    const without = async (change: (server: FakeServer) => void) =>
      outcome(ok(NOT_INVESTIGATED), (server) => {
        server.up = false;
        change(server);
      });
    expect(await without(() => undefined)).toEqual({ kind: 'server_down' });
    expect(await without((server) => (server.permitted = false))).toEqual({
      kind: 'no_permission',
      host: 'errata.example',
    });
    expect(await without((server) => (server.online = server.permitted = false))).toEqual({ kind: 'offline' });
  });

  it('that does not begin is not waited for without end', async () => {
    const server = new FakeServer();
    server.fetch = async (_url, { signal }) =>
      new Promise((_, reject) => signal?.addEventListener('abort', () => reject(new Error('aborted'))));
    const asked = await callProcedure(server, access, 'post.validateSettings', undefined, 1);
    expect(asked).toEqual({ ok: false, problem: { kind: 'server_down' } });
  }, 5_000);

  it('that never ends is not read to its end', async () => {
    let sent = 0;
    const endless = new ReadableStream<Uint8Array>({
      pull(controller) {
        sent += 1;
        controller.enqueue(new Uint8Array(1024 * 1024).fill(32));
      },
    });
    expect(await outcome(new Response(endless))).toEqual({ kind: 'server_down' });
    expect(sent).toBeLessThan(20);
  });

  it('of any shape is a value or a problem, never an exception', async () => {
    const status = fc.constantFrom(200, 201, 400, 401, 404, 412, 418, 500, 503);
    await fc.assert(
      fc.asyncProperty(status, fc.json(), async (code, body) => {
        await outcome(new Response(body, { status: code }));
      }),
      { numRuns: 200 },
    );
  });
});

describe('attestation', () => {
  it('is that of the reader’s own secret where there is one', async () => {
    const body = '{"a":"ü"}';
    expect(await attest(body, 'own')).toBe(createHmac('sha256', 'own').update(body).digest('hex'));
  });
});
