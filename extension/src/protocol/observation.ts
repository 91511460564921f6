/**
 * What a page's content script hands over, read field by field, and the request that is made of it.
 *
 * A page's process may be taken over by the page, so nothing of it is trusted: what does not fit the server's own rules
 * never leaves the browser. Source: CONTRACT 2.1, 7.5.
 */
import type { PlatformName } from '../platforms/base';
import {
  count,
  digits,
  exactly,
  instant,
  list,
  literal,
  Malformed,
  matching,
  nonEmpty,
  nullable,
  type Of,
  oneOf,
  optional,
  type Read,
  webUrl,
} from './read';

/** Units: UTF-16 units, and UTF-8 bytes. */
export const MAX_TEXT = 500_000;
/** The server takes no more pictures than these; a page's further ones are left out. */
export const MAX_OCCURRENCES = 256;

const encoder = new TextEncoder();

const contentText: Read<string> = (value, at) => {
  const observed = nonEmpty(value, at);
  if (observed.length > MAX_TEXT || encoder.encode(observed).length > MAX_TEXT) {
    throw new Malformed(at, `at most ${MAX_TEXT} bytes`);
  }
  return observed;
};

const occurrence = exactly({
  originalIndex: count,
  normalizedTextOffset: count,
  sourceUrl: webUrl,
  captionText: optional(nonEmpty),
});

const common = {
  externalId: nonEmpty,
  url: webUrl,
  contentText,
  mediaState: literal('text_only', 'has_images', 'has_video'),
  imageUrls: list(webUrl),
  imageOccurrences: optional(list(occurrence)),
};

const lesswrong = exactly({
  slug: nonEmpty,
  title: optional(nonEmpty),
  htmlContent: nonEmpty,
  authorName: optional(nonEmpty),
  authorSlug: optional(nullable(nonEmpty)),
  tags: list(nonEmpty),
  publishedAt: optional(instant),
});

const x = exactly({
  authorHandle: nonEmpty,
  authorDisplayName: optional(nullable(nonEmpty)),
  text: contentText,
  mediaUrls: list(webUrl),
  likeCount: optional(count),
  retweetCount: optional(count),
  postedAt: optional(instant),
});

const substack = exactly({
  substackPostId: digits,
  publicationSubdomain: nonEmpty,
  slug: nonEmpty,
  title: nonEmpty,
  subtitle: optional(nonEmpty),
  htmlContent: optional(nonEmpty),
  authorName: nonEmpty,
  authorSubstackHandle: optional(nonEmpty),
  publishedAt: optional(instant),
  likeCount: optional(count),
  commentCount: optional(count),
});

const wikipedia = exactly({
  language: matching(/^[a-z][a-z0-9-]*$/i, 'a language'),
  title: nonEmpty,
  pageId: digits,
  revisionId: digits,
  displayTitle: optional(nonEmpty),
  lastModifiedAt: optional(instant),
  htmlContent: optional(nonEmpty),
});

/** Read what a page says it shows. */
export const readContent = oneOf('platform', {
  LESSWRONG: exactly({ ...common, platform: literal('LESSWRONG'), metadata: lesswrong }),
  X: exactly({ ...common, platform: literal('X'), metadata: x }),
  SUBSTACK: exactly({ ...common, platform: literal('SUBSTACK'), metadata: substack }),
  WIKIPEDIA: exactly({ ...common, platform: literal('WIKIPEDIA'), metadata: wikipedia }),
});

export const readPlatform: Read<PlatformName> = literal('LESSWRONG', 'X', 'SUBSTACK', 'WIKIPEDIA');

export type Content = Of<typeof readContent>;

/** The input of `post.registerObservedVersion`: each platform sends only what its server does not know better. */
export function observation(content: Content): Readonly<Record<string, unknown>> {
  const occurrences = content.imageOccurrences?.slice(0, MAX_OCCURRENCES) ?? [];
  return {
    platform: content.platform,
    url: content.url,
    ...(content.platform !== 'WIKIPEDIA' && { externalId: content.externalId }),
    ...(content.platform !== 'LESSWRONG' && { observedContentText: content.contentText }),
    ...(content.imageUrls.length > 0 && { observedImageUrls: content.imageUrls }),
    ...(occurrences.length > 0 && { observedImageOccurrences: occurrences }),
    metadata: content.metadata,
  };
}
