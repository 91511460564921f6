/**
 * The words of the extension's own pages, in the reader's language.
 *
 * A page's `lang` is that of the words it got, not of the browser: a screen reader pronounces by it.
 */
import { browser } from 'wxt/browser';

import { SITES, type Site } from '../platforms';
import type { LogProof, Problem, SkipReason } from '../protocol/status';

// eslint-disable-next-line @typescript-eslint/unbound-method -- the browser's own functions need no object
export const say = browser.i18n.getMessage;

/** The sites that are read from installation on, or those of one kind, as a reader lists them. */
export function nameSites(publishes?: Site['publishes'], joined: 'listAnd' | 'listOr' = 'listAnd'): string {
  const names = SITES.filter(
    (site) => site.matches.length > 0 && (publishes === undefined || site.publishes === publishes),
  ).map(({ displayName }) => displayName);
  const last = names.pop() ?? '';
  return names.length === 0 ? last : say(joined, [names.join(', '), last]);
}

/** One or many, in languages that know just these two. */
export function sayCount(count: number, one: Parameters<typeof say>[0], many: Parameters<typeof say>[0]): string {
  return count === 1
    ? browser.i18n.getMessage(one as 'extName')
    : browser.i18n.getMessage(many as 'extName', [String(count)]);
}

/** What went wrong, and what can be done about it. */
export function sayProblem(problem: Problem): string {
  switch (problem.kind) {
    case 'offline':
      return say('problemOffline');
    case 'server_down':
      return say('problemServerDown');
    case 'no_permission':
      return say('problemNoPermission', [problem.host]);
    case 'upgrade_required':
      return say('popupUpgrade');
    case 'malformed_version':
      return say('problemMalformedVersion');
    case 'too_large':
      return say('problemTooLarge');
    case 'bad_answer':
      return say('problemBadAnswer');
    case 'bad_content':
      return say('problemBadContent');
    case 'not_openerrata':
      return say('problemNotOpenErrata');
    case 'unauthorized':
      return say('problemUnauthorized');
    case 'erased':
      return say('problemErased');
    case 'log_contradicts':
      return say('problemLogContradicts');
    case 'refused':
      return say('problemRefused');
    case 'no_lookups':
      return say('problemNoLookups');
    case 'paused':
      return say('problemPaused');
    case 'unproven':
      return say('problemUnproven');
  }
}

/** What the public log says of the findings. */
export function sayLog(proof: LogProof): string {
  if (proof.kind === 'none') return say('logNone');
  const { index, cosignatures } = proof;
  if (cosignatures === 0) return say('logProven', [index]);
  return cosignatures === 1 ? say('logProvenOne', [index]) : say('logProvenMany', [index, String(cosignatures)]);
}

/** Why a post is not checked. */
export function saySkip(reason: SkipReason): string {
  switch (reason) {
    case 'has_video':
      return say('popupSkippedVideo');
    case 'word_count':
      return say('popupSkippedWords');
    case 'no_text':
      return say('popupSkippedNoText');
    case 'private_or_gated':
      return say('popupSkippedPrivate');
    case 'unsupported_content':
      return say('popupSkippedUnsupported');
  }
}

/** Set the document's language, direction and title. */
export function localizeDocument(doc: Document, title: string): void {
  doc.documentElement.lang = say('extLanguage');
  doc.documentElement.dir = browser.i18n.getMessage('@@bidi_dir') === 'rtl' ? 'rtl' : 'ltr';
  doc.title = title;
}
