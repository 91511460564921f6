import { describe, expect, it } from 'vitest';

import { probe, test as examine } from '../../src/background/connection';
import { accessOf } from '../../src/background/server_client';
import { DEFAULTS } from '../../src/settings/settings';
import { BASE, failure, FakeServer } from './fakes';

const HEALTHY = { status: 'ok', minimumSupportedExtensionVersion: '0.2.0', more: 1 };

function server(health: Response, validate?: Response): FakeServer {
  const fake = new FakeServer();
  fake.answers.health = () => health;
  if (validate !== undefined) fake.answers['post.validateSettings'] = () => validate;
  return fake;
}

const access = accessOf({ ...DEFAULTS, apiBaseUrl: BASE, apiKey: 'instance', openaiApiKey: 'sk-own' }, '1.0.0');
const problem = (kind: string) => ({ kind: 'problem', problem: { kind } });

describe('a look at an address', () => {
  it.each([
    ['a healthy server', Response.json(HEALTHY), { kind: 'reachable' }],
    [
      'one of ours that is not well',
      Response.json({ ...HEALTHY, status: 'unavailable' }, { status: 503 }),
      { kind: 'unwell' },
    ],
    ['a web page', new Response('<h1>hello</h1>'), problem('not_openerrata')],
    ['some other API', Response.json({ status: 'green' }), problem('not_openerrata')],
    ['a server without that address', new Response('', { status: 404 }), problem('not_openerrata')],
    ['an error', new Response('', { status: 500 }), { kind: 'http_error', status: 500 }],
    ['a locked door', new Response('', { status: 403 }), { kind: 'http_error', status: 403 }],
  ])('%s', async (_, health, expected) => {
    expect(await probe(server(health), access.address)).toEqual(expected);
  });

  it('sends no key', async () => {
    const fake = server(Response.json(HEALTHY));
    await probe(fake, access.address);
    expect(fake.requests.map(({ headers }) => [...headers.keys()])).toEqual([['accept']]);
  });

  it('distinguishes no answer from no permission', async () => {
    const fake = server(Response.json(HEALTHY));
    fake.up = false;
    expect(await probe(fake, access.address)).toEqual(problem('server_down'));
    fake.permitted = false;
    expect(await probe(fake, access.address)).toMatchObject(problem('no_permission'));
    fake.online = false;
    expect(await probe(fake, access.address)).toEqual(problem('offline'));
  });
});

describe('a test of settings', () => {
  it('reports whether the server accepts the keys', async () => {
    const verdict = { instanceApiKeyAccepted: true, openaiApiKeyStatus: 'valid' };
    const fake = server(Response.json(HEALTHY), Response.json({ result: { data: verdict } }));
    expect(await examine(fake, access)).toEqual({ kind: 'connected', verdict });
    const [, asked] = fake.requests;
    expect([asked!.headers.get('x-api-key'), asked!.headers.get('x-openai-api-key')]).toEqual(['instance', 'sk-own']);
  });

  it('stops where there is no such server', async () => {
    const fake = server(new Response('<h1>hello</h1>'));
    expect(await examine(fake, access)).toEqual(problem('not_openerrata'));
    expect(fake.requests).toHaveLength(1);
  });

  it('knows a server without this procedure, and one that is too new', async () => {
    const healthy = () => Response.json(HEALTHY);
    expect(await examine(server(healthy(), failure('NOT_FOUND', 404)), access)).toEqual(problem('not_openerrata'));
    const gate = failure('PRECONDITION_FAILED', 412, { openerrataCode: 'UPGRADE_REQUIRED' });
    expect(await examine(server(healthy(), gate), access)).toMatchObject(problem('upgrade_required'));
  });
});
