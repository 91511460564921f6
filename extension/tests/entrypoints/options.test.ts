import { describe, expect, it } from 'vitest';

import { complaintsOf, draftOf, isSame, maySave, trimDraft } from '../../src/entrypoints/options/draft';
import { DEFAULTS } from '../../src/settings/settings';

const draft = draftOf(DEFAULTS);
const KEY = `sk-${'a'.repeat(24)}`;

describe('settings while they are edited', () => {
  it.each([
    [{}, {}],
    [{ apiBaseUrl: 'nonsense' }, { apiBaseUrl: 'addressNoUrl' }],
    [{ apiBaseUrl: 'ftp://a.example' }, { apiBaseUrl: 'addressScheme' }],
    [{ apiBaseUrl: 'http://a.example' }, { apiBaseUrl: 'addressPublicHttp' }],
    [{ apiBaseUrl: 'https://a.example?x' }, { apiBaseUrl: 'addressExtras' }],
    [{ openaiApiKey: 'sk-short' }, { openaiApiKey: 'optionsKeyFormat' }],
    [{ openaiApiKey: ` ${KEY} `, autoInvestigate: true }, {}],
    [{ autoInvestigate: true }, { autoInvestigate: 'optionsAutoNeedsKey' }],
    [{ apiKey: 'schlüssel' }, { apiKey: 'optionsKeyControl' }],
  ])('%j has %j', (change, complaints) => expect(complaintsOf({ ...draft, ...change })).toEqual(complaints));

  it('may be saved unless a field is wrong; a remark does not count', () => {
    expect(maySave({})).toBe(true);
    expect(maySave({ autoInvestigate: 'optionsAutoNeedsKey' })).toBe(true);
    expect(maySave({ apiBaseUrl: 'addressNoUrl' })).toBe(false);
  });

  it('are the same with white space around', () => {
    expect(isSame(draft, { ...draft, apiKey: ' ' })).toBe(true);
    expect(isSame(draft, { ...draft, apiKey: 'a' })).toBe(false);
    expect(trimDraft({ ...draft, apiBaseUrl: ' https://a.example ' }).apiBaseUrl).toBe('https://a.example');
  });
});
