/** The words of a check: verdicts, limits, failures and what can be done about them. */
import type { UnreadableReason } from '../feeds/base';
import type { CheckState } from '../page/check_state';
import type { WarningId } from '../verdict/bands';
import type { CapId } from '../verdict/caps';
import type { Card, EngineName, Failure, PromptId } from '../verdict/check';
import { LIMITS } from '../verdict/given';
import type { Verdict } from '../verdict/salvage';
import { say } from './texts';

type Key = Parameters<typeof say>[0];

/** How a verdict looks: its colour, and a sign for readers who do not see it. */
export interface Look {
  readonly tone: 'fine' | 'mixed' | 'wrong' | 'neutral';
  readonly sign: string;
  readonly word: string;
}

const LOOKS: Readonly<Record<Verdict, readonly [Look['tone'], string, Key]>> = {
  True: ['fine', '✓', 'verdictTrue'],
  MostlyTrue: ['fine', '✓', 'verdictMostlyTrue'],
  Mixed: ['mixed', '±', 'verdictMixed'],
  Misleading: ['mixed', '!', 'verdictMisleading'],
  False: ['wrong', '✕', 'verdictFalse'],
  Unverifiable: ['neutral', '?', 'verdictUnverifiable'],
  Opinion: ['neutral', '“', 'verdictOpinion'],
};
const CAPS: Readonly<Record<CapId, Key>> = {
  no_search: 'capNoSearch',
  old_sources: 'capOldSources',
  weak_source: 'capWeakSource',
  number_not_found: 'capNumberNotFound',
};
const WARNINGS: Readonly<Record<WarningId, Key>> = {
  few_families: 'warningFewFamilies',
  band_verdict: 'warningBandVerdict',
};
const FAILURES: Readonly<Record<Failure['code'], readonly [Key, Key]>> = {
  not_configured: ['failNotConfigured', 'failNotConfiguredAdvice'],
  no_consent: ['failNoConsent', 'failNoConsentAdvice'],
  no_permission: ['failNoPermission', 'failNoPermissionAdvice'],
  unreadable_post: ['failUnreadable', 'failUnreadableAdvice'],
  too_many_checks: ['failTooMany', 'failTooManyAdvice'],
  model_key_refused: ['failKeyRefused', 'failKeyRefusedAdvice'],
  model_quota: ['failQuota', 'failQuotaAdvice'],
  model_error: ['failModelError', 'failModelErrorAdvice'],
  model_unreachable: ['failUnreachable', 'failUnreachableAdvice'],
  model_silent: ['failSilent', 'failSilentAdvice'],
  model_refused: ['failRefused', 'failRefusedAdvice'],
  unparseable_output: ['failUnparseable', 'failUnparseableAdvice'],
  timed_out: ['failTimedOut', 'failTimedOutAdvice'],
  interrupted: ['failInterrupted', 'failInterruptedAdvice'],
};
const BY_SETTINGS: readonly Failure['code'][] = [
  'not_configured',
  'no_consent',
  'no_permission',
  'model_key_refused',
  'model_error',
  'model_unreachable',
];
const UNREADABLE: Readonly<Record<UnreadableReason, Key>> = {
  no_permalink: 'unreadableNoPermalink',
  no_words: 'unreadableNoWords',
  cut: 'unreadableCut',
  translated: 'unreadableTranslated',
  ambiguous: 'unreadableAmbiguous',
};
const ENGINES: Readonly<Record<Exclude<EngineName, 'none'>, string>> = {
  duckduckgo: 'DuckDuckGo',
  brave: 'Brave',
  tavily: 'Tavily',
};

export function lookOf(verdict: Verdict): Look {
  const [tone, sign, word] = LOOKS[verdict];
  return { tone, sign, word: say(word) };
}

/** What limits a card's number, and what does not fit. */
export function sayRemarks({ capsApplied, warnings, dropped, sourcesBackfilled }: Card): string[] {
  return [
    ...capsApplied.map((cap) => say(CAPS[cap], [String(LIMITS.caps[cap])])),
    ...warnings.map((warning) => say(WARNINGS[warning])),
    ...(sourcesBackfilled ? [say('checkBackfilled')] : []),
    ...(dropped === 0 ? [] : [dropped === 1 ? say('checkDroppedOne') : say('checkDroppedMany', [String(dropped)])]),
  ];
}

/** Why there is no card. */
export interface Trouble {
  readonly sentence: string;
  readonly advice: string;
  /** Whether the reader can fix it in the settings. */
  readonly bySettings: boolean;
  /** What the model answered. */
  readonly said: string | null;
}

/** What a state that ended without a card says; null for every other. */
export function troubleOf(ended: CheckState['ended']): Trouble | null {
  if (ended === null || ended.at === 'done') return null;
  const none = { bySettings: false, said: null };
  if (ended.at === 'cancelled')
    return { sentence: say('checkCancelled'), advice: say('checkCancelledAdvice'), ...none };
  if (ended.at === 'unreadable')
    return { sentence: say('failUnreadable'), advice: say(UNREADABLE[ended.reason]), ...none };
  const { failure } = ended;
  const [sentence, advice] = FAILURES[failure.code];
  const said = failure.code === 'unparseable_output' ? failure.said.trim() : '';
  if (failure.code === 'unparseable_output' && said === '')
    return { sentence: say(sentence), advice: say('failUnparseableEmpty'), ...none };
  const wait = failure.code === 'model_quota' ? failure.retryAfterS : null;
  return {
    sentence: say(sentence, 'host' in failure ? [failure.host] : []),
    advice: wait === null ? say(advice) : say('failQuotaWait', [String(wait)]),
    bySettings: BY_SETTINGS.includes(failure.code),
    said: said === '' ? null : said,
  };
}

export function nameEngine(engine: EngineName): string {
  return engine === 'none' ? say('searchNone') : ENGINES[engine];
}

/** The instructions of a check: the release of ours or the reader's own, and the beginning of their hash. */
export function namePrompt({ version, sha256 }: PromptId): string {
  return `${version === 'own' ? say('checkOwnPrompt') : version} ${sha256.slice(0, 8)}`;
}

export function domainOf(url: string): string {
  return URL.canParse(url) ? new URL(url).hostname.replace(/^www\./, '') : '';
}

/** A card as plain text, for the clipboard. */
export function copyOf(card: Card): string {
  const { verdict, confidence, summary, claims, caveats, sources, model, engine, prompt } = card;
  return [
    `${lookOf(verdict).word}. ${say('checkConfidence', [String(confidence)])}`,
    summary,
    ...claims.map(({ claim, assessment }) => `– ${claim}\n  ${assessment}`),
    ...(caveats === '' ? [] : [`${say('checkCaveats')} ${caveats}`]),
    ...sayRemarks(card),
    ...sources.map(({ title, url }) => `${title}\n${url}`),
    say('checkFooter', [model, nameEngine(engine), namePrompt(prompt)]),
    say('checkEstimate'),
  ].join('\n\n');
}
