import { describe, expect, it } from 'vitest';

import {
  type ChecksDraft,
  changesOf,
  checksComplaintsOf,
  checksDraftOf,
} from '../../src/entrypoints/options/checks_draft';
import { DEFAULTS } from '../../src/settings/settings';
import { PROMPT } from '../../src/verdict/given';

const none = checksDraftOf(DEFAULTS);
const local: ChecksDraft = { ...none, verdictRoute: 'lmstudio', verdictModel: 'a-model' };
const other: ChecksDraft = { ...local, verdictRoute: 'other', verdictBaseUrl: 'https://models.example/v1' };
const openRouter: ChecksDraft = { ...local, verdictRoute: 'openrouter', verdictKey: 'a-key' };

describe('settings of checks while they are edited', () => {
  it.each<[string, ChecksDraft, object]>([
    ['no model is chosen', none, {}],
    ['a server on this machine', local, {}],
    ['one at another address', { ...local, verdictBaseUrl: 'nonsense' }, { verdictBaseUrl: 'addressNoUrl' }],
    ['any other server', other, {}],
    ['without an address', { ...other, verdictBaseUrl: ' ' }, { verdictBaseUrl: 'addressNoUrl' }],
    ['in plain HTTP', { ...other, verdictBaseUrl: 'http://a.example' }, { verdictBaseUrl: 'addressPublicHttp' }],
    ['OpenRouter', openRouter, {}],
    ['whose address is known', { ...openRouter, verdictBaseUrl: 'nonsense' }, {}],
    ['without a key', { ...openRouter, verdictKey: ' ' }, { verdictKey: 'optionsKeyMissing' }],
    ['without a model', { ...local, verdictModel: ' ' }, { verdictModel: 'optionsModelMissing' }],
    ['a key that no header takes', { ...local, verdictKey: 'schlüssel' }, { verdictKey: 'optionsKeyControl' }],
    ['too short answers', { ...none, verdictMaxTokens: '255' }, { verdictMaxTokens: 'optionsMaxTokensBad' }],
    ['short answers', { ...none, verdictMaxTokens: '256' }, {}],
    ['long answers', { ...none, verdictMaxTokens: '32768' }, {}],
    ['too long answers', { ...none, verdictMaxTokens: '32769' }, { verdictMaxTokens: 'optionsMaxTokensBad' }],
    ['answers of no length', { ...none, verdictMaxTokens: 'many' }, { verdictMaxTokens: 'optionsMaxTokensBad' }],
    ['a search that needs no key', { ...none, searchProvider: 'duckduckgo' }, {}],
    ['a search that needs one', { ...none, searchProvider: 'brave' }, { searchKey: 'optionsKeyMissing' }],
    ['and has it', { ...none, searchProvider: 'brave', searchKey: 'a-key' }, {}],
  ])('%s', (_, draft, complaints) => expect(checksComplaintsOf(draft)).toEqual(complaints));

  it('are stored without white space, and the shipped instructions as nothing', () => {
    const entered = { ...other, verdictBaseUrl: ' https://models.example/v1 ', verdictModel: ' m ', verdictKey: ' k ' };
    expect(changesOf({ ...entered, searchKey: ' s ', verdictMaxTokens: '512' })).toMatchObject({
      ...{ verdictBaseUrl: 'https://models.example/v1', verdictModel: 'm', verdictKey: 'k', searchKey: 's' },
      ...{ verdictMaxTokens: 512, verdictPrompt: '' },
    });
    expect(none.verdictPrompt).toBe(PROMPT);
    expect(changesOf({ ...local, verdictPrompt: ' ' }).verdictPrompt).toBe('');
    expect(changesOf({ ...local, verdictPrompt: ' Be brief. ' }).verdictPrompt).toBe('Be brief.');
    expect(changesOf({ ...openRouter, verdictBaseUrl: 'https://left.example' }).verdictBaseUrl).toBe('');
  });
});
