/**
 * What to do about the page as it is right now. Pure; the order of the checks keeps the privacy promise.
 *
 * Whether a page is private is checked before anything else, and a page of which it is not certain what it shows is never
 * sent. Source: docs/protocol.md 5.2.
 */
import type { Extraction, IdentityGuess, ImageOccurrence, PageContent } from '../platforms/base';
import type { SkipReason } from '../protocol/status';

export const WORD_LIMIT = 10_000;

export type Decision =
  /** No post here. */
  | { readonly kind: 'nothing' }
  /** A post may be here soon: look again when the page changes. */
  | { readonly kind: 'wait' }
  /** `final`: no later change of this page can change the decision. */
  | { readonly kind: 'skip'; readonly reason: SkipReason; readonly post: IdentityGuess; readonly final: boolean }
  | { readonly kind: 'send'; readonly content: PageContent };

/** Decide about a page from what was read there. */
export function decide(extraction: Extraction): Decision {
  switch (extraction.kind) {
    case 'gated':
      return extraction.externalId === undefined
        ? { kind: 'nothing' }
        : skip('private_or_gated', { platform: extraction.platform, externalId: extraction.externalId });
    case 'not_ready':
      if (extraction.reason === 'hydrating' || extraction.reason === 'ambiguous_dom') return { kind: 'wait' };
      return extraction.identityGuess === undefined
        ? { kind: 'nothing' }
        : skip('unsupported_content', extraction.identityGuess);
    case 'ready':
      return decideContent(extraction.content);
  }
}

function decideContent(content: PageContent): Decision {
  if (content.contentText === '') return skip('no_text', content);
  if (content.mediaState === 'has_video') return skip('has_video', content);
  if (exceedsWords(content.contentText, WORD_LIMIT)) return skip('word_count', content);
  return { kind: 'send', content };
}

const NEVER_BETTER: ReadonlySet<SkipReason> = new Set(['has_video', 'word_count']);

function skip(reason: SkipReason, { platform, externalId }: IdentityGuess): Decision {
  return { kind: 'skip', reason, post: { platform, externalId }, final: NEVER_BETTER.has(reason) };
}

/** Whether normalised text has more than `limit` words; stops counting there, however long the text. */
export function exceedsWords(normalised: string, limit: number): boolean {
  let words = normalised === '' ? 0 : 1;
  for (let at = normalised.indexOf(' '); at !== -1 && words <= limit; at = normalised.indexOf(' ', at + 1)) words++;
  return words > limit;
}

/** Whether a server would call two readings the same version of the same post. */
export function sameVersion(one: PageContent, other: PageContent): boolean {
  return (
    one.platform === other.platform &&
    one.externalId === other.externalId &&
    one.mediaState === other.mediaState &&
    one.contentText === other.contentText &&
    one.imageOccurrences.length === other.imageOccurrences.length &&
    one.imageOccurrences.every((place, index) => samePicture(place, other.imageOccurrences[index]!))
  );
}

function samePicture(one: ImageOccurrence, other: ImageOccurrence): boolean {
  return (
    one.originalIndex === other.originalIndex &&
    one.normalizedTextOffset === other.normalizedTextOffset &&
    one.sourceUrl === other.sourceUrl &&
    one.captionText === other.captionText
  );
}

/** Versions of one address that are sent at once; a page that keeps changing is a clock, not an author. */
const AT_ONCE = 3;
const FIRST_CALM_MS = 30_000;
const LONGEST_CALM_MS = 600_000;

/** How long the `versions`-th version of one address is held before the next is looked for. */
export function versionPauseMs(versions: number): number {
  return versions < AT_ONCE ? 0 : Math.min(FIRST_CALM_MS * 2 ** Math.min(versions - AT_ONCE, 16), LONGEST_CALM_MS);
}

/** Whether a page that does not name its post still shows the one of another address, in its head or in its words. */
export function showsPreviousPost(content: PageContent, left: PageContent): boolean {
  return content.externalId === left.externalId || content.contentText === left.contentText;
}

const FIRST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 30_000;

/** How long to wait after the `attempt`-th failure in a row, counted from 0, where the worker itself gave no answer. */
export function retryAfterMs(attempt: number): number {
  return Math.min(FIRST_RETRY_MS * 2 ** Math.min(attempt, 16), LONGEST_RETRY_MS);
}
