/**
 * What a page's content script sends, read field by field, and the request that is made of it.
 *
 * A page's process may be taken over by the page, so nothing of it is trusted: what does not fit the server's own rules
 * never leaves the browser. Source: docs/protocol.md 2.1, 5.4.
 */
import { SITES } from '../platforms';
import {
  contentText,
  count,
  exactly,
  isWebUrl,
  list,
  literal,
  nonEmpty,
  type Of,
  oneOf,
  optional,
  type Read,
  text,
  webUrl,
  webUrls,
} from './read';

/** The server takes no more pictures than these; a page's further ones are left out. */
export const MAX_OCCURRENCES = 256;

const occurrence = exactly({
  originalIndex: count,
  normalizedTextOffset: count,
  sourceUrl: text,
  captionText: optional(nonEmpty),
});

/** The pictures of the web, numbered anew as the server would. */
const occurrences: Read<Of<typeof occurrence>[]> = (value, at) =>
  list(occurrence)(value, at)
    .filter(({ sourceUrl }) => isWebUrl(sourceUrl))
    .map((one, originalIndex) => ({ ...one, originalIndex }));

const common = {
  externalId: nonEmpty,
  url: webUrl,
  contentText,
  mediaState: literal('text_only', 'has_images', 'has_video'),
  imageUrls: webUrls,
  imageOccurrences: optional(occurrences),
};

/** Read what a page says it shows. */
export const readContent = oneOf(
  'platform',
  Object.fromEntries(
    SITES.map(({ platform, metadata }) => [platform, exactly({ ...common, platform: literal(platform), metadata })]),
  ),
);

export const readPlatform: Read<string> = literal(...SITES.map(({ platform }) => platform));

export type ObservedContent = Of<typeof readContent>;

/** The input of `post.registerObservedVersion`: each site leaves out what its server does not take from a reader. */
export function toObservation(content: ObservedContent): Readonly<Record<string, unknown>> {
  const occurrences = content.imageOccurrences?.slice(0, MAX_OCCURRENCES) ?? [];
  const omits = SITES.find(({ platform }) => platform === content.platform)?.omits ?? [];
  return {
    platform: content.platform,
    url: content.url,
    ...(!omits.includes('externalId') && { externalId: content.externalId }),
    ...(!omits.includes('observedContentText') && { observedContentText: content.contentText }),
    ...(content.imageUrls.length > 0 && { observedImageUrls: content.imageUrls }),
    ...(occurrences.length > 0 && { observedImageOccurrences: occurrences }),
    metadata: content.metadata,
  };
}
