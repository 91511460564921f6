/** What a connection test says, by the names of its sentences. */
import { beforeEach, expect, it, vi } from 'vitest';
import { browser } from 'wxt/browser';

import type { ConnectionResult } from '../../src/background/connection';

type Verdict = Extract<ConnectionResult, { kind: 'connected' }>['verdict'];

let reportOf: typeof import('../../src/entrypoints/options/report').reportOf;

beforeEach(async () => {
  vi.spyOn(browser.i18n, 'getMessage').mockImplementation((key: string) => key);
  // It takes its words when it is imported.
  ({ reportOf } = await import('../../src/entrypoints/options/report'));
});

function report(verdict: Partial<Verdict>, instance: boolean): [boolean, string][] {
  const known = { instanceApiKeyAccepted: false, openaiApiKeyStatus: 'missing', ...verdict } as Verdict;
  const [first, ...more] = reportOf({ kind: 'connected', verdict: known }, 'api.example', { instance });
  expect(first).toEqual({ good: true, words: 'testConnected' });
  return more.map(({ good, words }) => [good, words]);
}

it('speaks of an instance key only to who has one', () => {
  expect(report({}, false)).toEqual([]);
  expect(report({}, true)).toEqual([[false, 'testInstanceKeyRefused']]);
  expect(report({ instanceApiKeyAccepted: true }, true)).toEqual([[true, 'testInstanceKeyAccepted']]);
});

it.each([
  ['valid', true, 'testOpenAiValid'],
  ['format_invalid', false, 'testOpenAiFormat'],
  ['invalid', false, 'testOpenAiInvalid'],
  ['authenticated_restricted', false, 'testOpenAiRestricted'],
  ['error', false, 'testOpenAiError'],
] as const)('says that a key for OpenAI is %s', (openaiApiKeyStatus, good, words) => {
  expect(report({ openaiApiKeyStatus }, false)).toEqual([[good, words]]);
});
