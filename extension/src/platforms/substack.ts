/**
 * Substack: under its own hosts, and under a publication's domain that shows Substack's fingerprint.
 *
 * The post's number stands nowhere but in the address of its preview picture. Without the number two posts of one slug
 * would be one, so a page without it has no identity.
 *
 * The site swaps posts without loading a page: the address comes first, the words later. A page that names another post
 * than its address does still shows that other post.
 */
import { IN_PAGE, IN_WORKER, onlyInPage, onlyInWorker } from '../builds';
import { count, digits, exactly, instant, nonEmpty, optional } from '../protocol/read';
import { addSite, notReady, type Reading } from './base';
import { contentSteps } from './content';
import { omitUnknown } from './fields';
import { sendableSteps } from './serialize';
import type { Steps } from './steps';
import { jsonLd, meta, metaDate, shownDate, statedDate } from './structured';
import { isGated } from './substack_gate';
import { firstText, textIn } from './text';
import { isEmbeddedVideo } from './video';
import { isNeverText } from './walk';

const HOST = /^([a-z0-9-]+)\.substack\.com$/;
const PATH = /^\/p\/([^/]+)/;
/** What only pages of Substack show, whoever's domain they stand under. */
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

const metadata = exactly({
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

addSite({
  platform: 'SUBSTACK',
  displayName: 'Substack',
  publishes: 'posts',
  domains: ['substack.com'],
  matches: ['https://*.substack.com/*'],
  customDomain: { isPost: (url) => slug(url) !== null, marks: FINGERPRINT },
  metadata: IN_WORKER ? metadata : onlyInWorker,
  matchesUrl: (url) => HOST.test(url.hostname) && slug(url) !== null,
  isGated: IN_PAGE ? (doc) => isGated(doc, hasText(doc)) : onlyInPage,
  guess: slug,
  read: IN_PAGE ? read : onlyInPage,
});

function slug(url: URL | null): string | null {
  return PATH.exec(url?.pathname ?? '')?.[1] ?? null;
}

function* read(doc: Document, url: URL): Steps<Reading> {
  const root = doc.querySelector(BODY);
  const authorName = firstText(meta(doc, 'author'));
  const title = textIn(doc.querySelector('h1.post-title')) ?? firstText(doc.title);
  if (root === null || authorName === null || title === null) return notReady('hydrating');
  const named = namedSlugs(doc, url);
  if (named.some((one) => one !== normalizeSlug(slug(url)))) return notReady('hydrating');
  const previews = previewAddresses(doc);
  const externalId = firstMatch(PREVIEW, previews);
  const publicationSubdomain = HOST.exec(url.hostname)?.[1] ?? firstMatch(PUBLICATION, previews)?.toLowerCase() ?? null;
  const name = slug(url);
  if (externalId === null || publicationSubdomain === null || name === null) return notReady('missing_identity');

  const content = yield* contentSteps(root, url.href, isNeverText, isEmbeddedVideo);
  const article = root.closest('article');
  return {
    kind: 'ready',
    root,
    excluded: isNeverText,
    isNamed: named.length > 0,
    html: () => sendableSteps(root, new Set()),
    content: {
      platform: 'SUBSTACK',
      externalId,
      url: url.href,
      contentText: content.text,
      mediaState: content.mediaState,
      imageUrls: content.imageUrls,
      imageOccurrences: content.imageOccurrences,
      metadata: omitUnknown({
        substackPostId: externalId,
        publicationSubdomain,
        slug: name,
        title,
        subtitle: textIn(doc.querySelector('h3.subtitle, h2.subtitle')),
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

/** The posts that the page says it shows. */
function namedSlugs(doc: Document, url: URL): string[] {
  const stated = jsonLd(doc).flatMap((fields) => [fields.url, fields.mainEntityOfPage]);
  const canonical = doc.querySelector('link[rel="canonical"]')?.getAttribute('href');
  return [canonical, meta(doc, 'og:url'), ...stated].flatMap((address) => {
    const name = typeof address === 'string' ? normalizeSlug(slug(URL.parse(address, url) ?? null)) : null;
    return name === null ? [] : [name];
  });
}

/** A slug as it is compared. */
function normalizeSlug(name: string | null): string | null {
  return name === null ? null : decodeAddress(name).toLowerCase();
}

function hasText(doc: Document): boolean {
  const root = doc.querySelector(BODY);
  if (root === null) return false;
  const texts = doc.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  for (let text = texts.nextNode(); text !== null; text = texts.nextNode()) {
    if (firstText(text.nodeValue) !== null && text.parentElement?.closest('script, style, noscript') === null)
      return true;
  }
  return false;
}

/** The addresses of the preview pictures, as they are and decoded once and twice. */
function previewAddresses(doc: Document): string[] {
  return ['twitter:image', 'og:image'].flatMap((name) => {
    const address = meta(doc, name);
    if (address === null) return [];
    const once = decodeAddress(address);
    return [address, once, decodeAddress(once)];
  });
}

function decodeAddress(text: string): string {
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
    .flatMap((fields) => fields.interactionStatistic)
    .filter((one): one is Record<string, unknown> => typeof one === 'object' && one !== null)
    .filter((one) => typeName(one.interactionType).endsWith(action))
    .map((one) => Number(one.userInteractionCount ?? NaN));
  return counts.find((count) => Number.isSafeInteger(count) && count >= 0) ?? null;
}

function typeName(type: unknown): string {
  if (typeof type === 'string') return type;
  const name = typeof type === 'object' && type !== null ? (type as Record<string, unknown>)['@type'] : null;
  return typeof name === 'string' ? name : '';
}
