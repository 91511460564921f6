// @vitest-environment happy-dom
import { describe, expect, it } from 'vitest';

import { type PopupInput, viewOf } from '../../src/entrypoints/popup/view';
import type { PostState, TabStatus } from '../../src/protocol/status';
import { DEFAULTS as UNCHOSEN } from '../../src/settings/settings';
import { CLAIM, PAGE, PAYLOAD, PRIOR } from '../background/fakes';

const DEFAULTS = { ...UNCHOSEN, mode: 'full' };

function status(state: PostState, more: Partial<TabStatus> = {}): TabStatus {
  const post = {
    tabSessionId: 's',
    platform: 'X',
    externalId: '20',
    pageUrl: PAGE,
    lookup: null,
    postVersionId: 'v1',
  } as const;
  return { ...post, viewCount: null, outcomes: {}, proof: null, state, ...more };
}

function known(post: TabStatus | null, more: Partial<PopupInput> = {}): PopupInput {
  return { cached: { status: post, upgrade: null }, url: PAGE, settings: DEFAULTS, markedSite: null, ...more };
}

const KEYED = { ...DEFAULTS, apiKey: 'instance' };
const done = {
  kind: 'investigated',
  provenance: 'SERVER_VERIFIED',
  investigationId: 'i1',
  corroborationCount: null,
  checkedAt: null,
} as const;
const listed = { id: 'c1', summary: CLAIM.summary, quote: CLAIM.text, reasoning: CLAIM.reasoning, outcome: undefined };
const NONE = { claims: [], investigationId: null };

describe('the popup over a post', () => {
  it.each<[string, PopupInput, object]>([
    ['checking', known(status({ kind: 'checking' })), { kind: 'checking' }],
    [
      'findings, each once',
      known(status({ ...done, claims: [CLAIM, CLAIM] })),
      { kind: 'found', claims: [listed], investigationId: 'i1' },
    ],
    [
      'another version',
      known(status({ kind: 'other_version', investigationId: 'i1' })),
      { kind: 'other_version', investigationId: 'i1', mayInvestigate: false },
    ],
    ['skipped', known(status({ kind: 'skipped', reason: 'word_count' })), { kind: 'skipped', reason: 'word_count' }],
    [
      'findings',
      known(status({ ...done, claims: [CLAIM] })),
      { kind: 'found', claims: [listed], investigationId: 'i1' },
    ],
    [
      'findings whose text has changed',
      known(status({ ...done, claims: [CLAIM] }, { outcomes: { c1: 'changed' } })),
      { kind: 'found', claims: [{ ...listed, outcome: 'changed' }] },
    ],
    ['clean', known(status({ ...done, claims: [] })), { kind: 'clean', investigationId: 'i1' }],
    ['failed', known(status({ kind: 'failed' })), { kind: 'failed', mayInvestigate: false }],
    [
      'failed, with a key',
      known(status({ kind: 'failed' }), { settings: KEYED }),
      { kind: 'failed', mayInvestigate: true },
    ],
    [
      'unanswered',
      known(status({ kind: 'unanswered', problem: { kind: 'offline' } })),
      { kind: 'unanswered', problem: { kind: 'offline' } },
    ],
    [
      'not investigated, without a key',
      known(status({ kind: 'not_investigated', prior: null }, { viewCount: 4 })),
      { kind: 'not_investigated', viewCount: 4, mayInvestigate: false, interim: NONE },
    ],
    [
      'viewed by nobody but who reads that',
      known(status({ kind: 'not_investigated', prior: null }, { viewCount: 0 })),
      { kind: 'not_investigated', viewCount: null, mayInvestigate: false, interim: NONE },
    ],
    [
      'not investigated, with a key',
      known(status({ kind: 'not_investigated', prior: PRIOR }), { settings: KEYED }),
      { mayInvestigate: true, interim: { claims: [listed], investigationId: PRIOR.sourceInvestigationId } },
    ],
    [
      'not investigated, with the reader’s own key',
      known(status({ kind: 'not_investigated', prior: null }), { settings: { ...DEFAULTS, openaiApiKey: 'sk' } }),
      { mayInvestigate: true },
    ],
    [
      'too old by its last answer',
      known(status({ kind: 'unanswered', problem: { kind: 'upgrade_required', minimumVersion: '2' } })),
      { kind: 'upgrade', minimumVersion: '2' },
    ],
  ])('%s', (_, what, expected) => expect(viewOf(what)).toMatchObject(expected));

  it('counts candidates and shows only what is confirmed', () => {
    const state = {
      kind: 'investigating',
      investigationId: 'i',
      pendingCount: 1,
      confirmed: [PAYLOAD],
      prior: null,
      trouble: null,
      wanted: false,
    } as const;
    expect(viewOf(known(status(state)))).toEqual({
      kind: 'investigating',
      starting: false,
      found: 2,
      confirmed: [PAYLOAD.summary],
      interim: NONE,
      trouble: null,
    });
  });

  it('shows first that the extension is outdated', () => {
    const cached = { status: status({ ...done, claims: [] }), upgrade: { minimumVersion: null } };
    expect(viewOf(known(null, { cached }))).toEqual({ kind: 'upgrade', minimumVersion: null });
  });

  it('shows that the site is off', () => {
    const settings = { ...DEFAULTS, sitesOff: ['x.com'] };
    expect(viewOf(known(status({ kind: 'checking' }), { settings }))).toEqual({ kind: 'off', site: 'x.com' });
  });
});

const OTHER_PAGES = [
  'https://x.com/home',
  'https://x.com/ada',
  'https://x.com/search?q=bats',
  'https://www.lesswrong.com/',
  'https://www.lesswrong.com/tag/rationality',
  'https://walks.substack.com/archive',
  'https://walks.substack.com/',
];
const NO_ARTICLES = [
  'https://en.wikipedia.org/',
  'https://en.wikipedia.org/wiki/Talk:Bat',
  'https://en.wikipedia.org/wiki/User:Ada',
  'https://en.m.wikipedia.org/wiki/Special:Search?search=bats',
  'https://en.wikipedia.org/w/index.php?search=bats',
];

describe('the popup over a page without a status', () => {
  const letters = 'https://letters.example/p/one';
  const bluesky = 'https://bsky.app/profile/ann.example.com/post/3l6oveex3ii2l';
  it.each<[string, Partial<PopupInput>, object]>([
    ['a post that is not read yet', {}, { kind: 'checking' }],
    ...OTHER_PAGES.map((url): [string, Partial<PopupInput>, object] => [url, { url }, { kind: 'unsupported' }]),
    ...NO_ARTICLES.map((url): [string, Partial<PopupInput>, object] => [
      url,
      { url },
      { kind: 'skipped', reason: 'unsupported_content' },
    ]),
    ['some other site', { url: 'https://other.example/' }, { kind: 'unsupported' }],
    ['a page of the browser', { url: 'chrome://extensions' }, { kind: 'unsupported' }],
    ['a page of unknown address', { url: null }, { kind: 'unsupported' }],
    [
      'a publication’s own domain',
      { url: letters, markedSite: 'Substack' },
      { kind: 'addable', host: 'letters.example', site: 'Substack', isOwnDomain: true },
    ],
    [
      'a site that is off at first',
      { url: bluesky },
      { kind: 'addable', host: 'bsky.app', site: 'Bluesky', isOwnDomain: false },
    ],
    [
      'a post of such a site that was added',
      { url: bluesky, settings: { ...DEFAULTS, sitesAdded: ['bsky.app'] } },
      { kind: 'checking' },
    ],
    [
      'another page of it',
      { url: 'https://bsky.app/notifications', settings: { ...DEFAULTS, sitesAdded: ['bsky.app'] } },
      { kind: 'unsupported' },
    ],
    ['one that is not Substack’s', { url: letters }, { kind: 'unsupported' }],
    [
      'one that was added',
      { url: letters, settings: { ...DEFAULTS, sitesAdded: ['letters.example'] } },
      { kind: 'checking' },
    ],
    [
      'the same without encryption, where nothing is read',
      { url: letters.replace('https:', 'http:'), settings: { ...DEFAULTS, sitesAdded: ['letters.example'] } },
      { kind: 'unsupported' },
    ],
  ])('%s', (_, more, expected) => expect(viewOf(known(null, more))).toEqual(expected));
});
