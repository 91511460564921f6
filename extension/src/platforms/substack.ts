/**
 * Substack: under its own hosts, and under a publication's domain that shows Substack's fingerprint.
 *
 * The post's number stands nowhere but in the address of its preview picture. Without the number two posts of one slug
 * would be one, so a page without it has no identity.
 */

import { adapter, notReady, type Reading } from './base';
import { readContent } from './content';
import { present } from './fields';
import { htmlWithout, sendable } from './serialize';
import { jsonLd, meta, metaDate, shownDate, statedDate } from './structured';
import { isGated } from './substack_gate';
import { firstText, textIn } from './text';
import { isEmbeddedVideo } from './video';
import { isNeverText } from './walk';

const HOST = /^([a-z0-9-]+)\.substack\.com$/;
const PATH = /^\/p\/([^/]+)/;
const FINGERPRINT = [
  'link[href*="substackcdn.com"]',
  'script[src*="substackcdn.com"]',
  'img[src*="substackcdn.com"]',
  'meta[property="og:url"][content*=".substack.com"]',
  'meta[name="twitter:image"][content*="post_preview/"]',
].join();
const PREVIEW = /post_preview\/([0-9]+)\/(?:twitter|facebook)\.(?:jpe?g|png)/;
const PUBLICATION = /\/\/([a-z0-9-]+)\.substack\.com(?:\/|$)/i;
const BODY = '.body.markup';

export const substack = adapter({
  platform: 'SUBSTACK',
  matchesUrl: (url) => HOST.test(url.hostname) && slug(url) !== null,
  matchesDom: (doc, url) => slug(url) !== null && doc.querySelector(FINGERPRINT) !== null,
  isGated: (doc, url) => isGated(doc, postText(doc, url)),
  guess: slug,
  read,
});

function slug(url: URL): string | null {
  return PATH.exec(url.pathname)?.[1] ?? null;
}

function read(doc: Document, url: URL): Reading {
  const root = doc.querySelector(BODY);
  const authorName = firstText(meta(doc, 'author'));
  const title = textIn(doc.querySelector('h1.post-title')) ?? firstText(doc.title);
  if (root === null || authorName === null || title === null) return notReady('hydrating');
  const previews = previewAddresses(doc);
  const externalId = firstMatch(PREVIEW, previews);
  const publicationSubdomain = HOST.exec(url.hostname)?.[1] ?? firstMatch(PUBLICATION, previews)?.toLowerCase() ?? null;
  const name = slug(url);
  if (externalId === null || publicationSubdomain === null || name === null) return notReady('missing_identity');

  const content = readContent(root, url.href, isNeverText, isEmbeddedVideo);
  const article = root.closest('article');
  return {
    kind: 'ready',
    root,
    excluded: isNeverText,
    content: {
      platform: 'SUBSTACK',
      externalId,
      url: url.href,
      contentText: content.text,
      mediaState: content.mediaState,
      imageUrls: content.imageUrls,
      imageOccurrences: content.imageOccurrences,
      metadata: present({
        substackPostId: externalId,
        publicationSubdomain,
        slug: name,
        title,
        subtitle: textIn(doc.querySelector('h3.subtitle, h2.subtitle')),
        htmlContent: sendable(htmlWithout(root, new Set())),
        authorName,
        authorSubstackHandle: firstText(meta(doc, 'twitter:site')?.replace(/^@/, '')),
        // A date outside the article is that of a comment or of another post.
        publishedAt: metaDate(doc) ?? statedDate(doc) ?? (article && shownDate(article)),
        likeCount: interactions(doc, 'LikeAction'),
        commentCount: interactions(doc, 'CommentAction'),
      }),
    },
  };
}

function postText(doc: Document, url: URL): string {
  const root = doc.querySelector(BODY);
  return root === null ? '' : readContent(root, url.href, isNeverText, () => false).text;
}

/** The addresses of the preview pictures, as they are and decoded once and twice. */
function previewAddresses(doc: Document): string[] {
  return ['twitter:image', 'og:image'].flatMap((name) => {
    const address = meta(doc, name);
    if (address === null) return [];
    const once = decoded(address);
    return [address, once, decoded(once)];
  });
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function firstMatch(pattern: RegExp, texts: readonly string[]): string | null {
  for (const text of texts) {
    const match = pattern.exec(text)?.[1];
    if (match !== undefined) return match;
  }
  return null;
}

/** How many readers did something, as the page's structured data counts them. */
function interactions(doc: Document, action: string): number | null {
  const counts = jsonLd(doc)
    .flatMap((fields) => fields['interactionStatistic'])
    .filter((one): one is Record<string, unknown> => typeof one === 'object' && one !== null)
    .filter((one) => typeName(one['interactionType']).endsWith(action))
    .map((one) => Number(one['userInteractionCount'] ?? NaN));
  return counts.find((count) => Number.isSafeInteger(count) && count >= 0) ?? null;
}

function typeName(type: unknown): string {
  if (typeof type === 'string') return type;
  const name = typeof type === 'object' && type !== null ? (type as Record<string, unknown>)['@type'] : null;
  return typeof name === 'string' ? name : '';
}
