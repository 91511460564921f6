import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { browser } from 'wxt/browser';
import { fakeBrowser } from 'wxt/testing/fake-browser';

import {
  asSettings,
  DEFAULTS,
  isSendable,
  looksLikeOpenAiKey,
  readSettings,
  type Settings,
  writeSettings,
} from '../../src/settings/settings';
import { patternsToGiveBack } from '../../src/settings/permissions';
import { hostOf, isBuiltIn, siteOf } from '../../src/settings/sites';
import { exportSettings, importSettings } from '../../src/settings/transfer';

beforeEach(() => fakeBrowser.reset());

const OWN: Settings = {
  sendHints: true,
  mode: 'full',
  apiBaseUrl: 'https://errata.example',
  apiKey: 'instance',
  openaiApiKey: 'sk-own',
  autoInvestigate: true,
  hmacSecret: 'hush',
  showHighlights: false,
  sitesOff: ['x.com'],
  sitesAdded: ['letters.example'],
  verdictSites: ['bsky.app'],
  verdictRoute: 'other',
  verdictBaseUrl: 'http://localhost:8080/v1',
  verdictModel: 'small',
  verdictKey: 'sk-model',
  verdictMaxTokens: 512,
  searchProvider: 'brave',
  searchKey: 'search',
  verdictPrompt: 'Judge.',
  verdictConsent: '1 localhost:8080 api.search.brave.com',
};

describe('settings', () => {
  it('come back from storage as they went', async () => {
    expect(await readSettings(browser.storage.local)).toEqual(DEFAULTS);
    await writeSettings(browser.storage.local, OWN);
    expect(await readSettings(browser.storage.local)).toEqual(OWN);
    await writeSettings(browser.storage.local, { apiKey: '' });
    expect(await readSettings(browser.storage.local)).toEqual({ ...OWN, apiKey: '' });
  });

  it('that cannot be read count as not set', () => {
    const bad = {
      apiBaseUrl: 7,
      autoInvestigate: 'yes',
      sitesOff: 'x.com',
      sitesAdded: ['a', 1, '', 'a'],
      showHighlights: null,
    };
    expect(asSettings(bad)).toEqual({ ...DEFAULTS, sitesAdded: ['a'] });
  });

  it('are always readable, whatever is stored', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...Object.keys(DEFAULTS)), fc.anything()), (stored) => {
        const read = asSettings(stored);
        for (const [key, value] of Object.entries(DEFAULTS))
          expect(typeof read[key as keyof Settings]).toBe(typeof value);
      }),
    );
  });

  it('know keys that cannot travel, and what OpenAI’s look like', () => {
    expect([isSendable(' key '), isSendable('a b'), isSendable('schlüssel'), isSendable('a\nb')]).toEqual([
      true,
      false,
      false,
      false,
    ]);
    expect(looksLikeOpenAiKey(`sk-${'a'.repeat(20)}`)).toBe(true);
    expect([`sk-${'a'.repeat(19)}`, `pk-${'a'.repeat(20)}`, `sk-${'a'.repeat(20)}!`].some(looksLikeOpenAiKey)).toBe(
      false,
    );
  });
});

describe('a permission that was asked for checks', () => {
  const before = { ...DEFAULTS, verdictRoute: 'other', verdictBaseUrl: 'https://bsky.app/v1', verdictModel: 'm' };
  const after = { ...before, verdictBaseUrl: 'https://models.example/v1' };

  it('is given back once nothing needs it', () => {
    expect(patternsToGiveBack(before, before)).toEqual([]);
    expect(patternsToGiveBack(before, after)).toEqual(['https://bsky.app/*']);
  });

  it.each<[string, Partial<Settings>]>([
    ['the server', { apiBaseUrl: 'https://bsky.app' }],
    ['a site that was added', { sitesAdded: ['bsky.app'] }],
    ['a site with checks', { verdictSites: ['bsky.app'] }],
  ])('stays where %s needs it', (_, more) => {
    expect(patternsToGiveBack(before, { ...after, ...more })).toEqual([]);
  });
});

describe('settings in a file', () => {
  it('leave keys out unless asked for, and always what only a permission makes true', () => {
    const without = exportSettings(OWN, false);
    for (const secret of [
      'instance',
      'sk-own',
      'hush',
      'letters.example',
      'bsky.app',
      'sk-model',
      'search"',
      '1 local',
    ])
      expect(without).not.toContain(secret);
    const { mode: _0, sendHints: _6, sitesAdded: _, verdictSites: _7, verdictConsent: __, ...kept } = OWN;
    expect(importSettings(exportSettings(OWN, true))).toEqual(kept);
    const { apiKey: _1, openaiApiKey: _2, hmacSecret: _3, verdictKey: _4, searchKey: _5, ...open } = kept;
    expect(importSettings(without)).toEqual(open);
  });

  it.each([
    '',
    'not json',
    '[]',
    'null',
    '{"settings": {}}',
    '{"format": "openerrata-settings", "version": 2, "settings": {}}',
    '{"format": "openerrata-settings", "version": 1}',
  ])('are refused as %j', (file) => expect(importSettings(file)).toBeNull());

  it('pass on nothing that is no setting', () => {
    const file =
      '{"format": "openerrata-settings", "version": 1, "settings": {"apiKey": 3, "evil": 1, "__proto__": {"apiKey": "x"}, "sitesAdded": ["a"]}}';
    expect(importSettings(file)).toEqual({ apiKey: '' });
  });
});

describe('a site', () => {
  it.each([
    ['https://de.m.wikipedia.org/wiki/Mond', 'wikipedia.org', true],
    ['https://twitter.com/a/status/1', 'x.com', true],
    ['https://x.com/a', 'x.com', true],
    ['https://www.lesswrong.com/posts/a', 'lesswrong.com', true],
    ['https://letters.substack.com/p/a', 'substack.com', true],
    ['https://letters.example/p/a', 'letters.example', false],
    ['https://notx.com/', 'notx.com', false],
    ['https://wikipedia.org.example/', 'wikipedia.org.example', false],
    ['http://en.wikipedia.org/wiki/A', 'wikipedia.org', false],
  ])('of %s is %s', (url, site, builtIn) => {
    expect([siteOf(url), isBuiltIn(url)]).toEqual([site, builtIn]);
  });

  it.each(['about:blank', 'chrome://extensions', 'file:///etc/hosts', 'nonsense'])('is none for %s', (url) => {
    expect([siteOf(url), hostOf(url), isBuiltIn(url)]).toEqual([null, null, false]);
  });
});
