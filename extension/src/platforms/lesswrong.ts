/**
 * LessWrong: a post's own body, and only once the page says that it is the body of the post in the address.
 *
 * The site swaps posts without loading a page. The first body found may still hold the previous post's text under the
 * next one's address; so the body must carry structured data of the very post.
 */
import { IN_PAGE, IN_WORKER, onlyInPage, onlyInWorker } from '../builds';
import { exactly, instant, list, nonEmpty, nullable, optional } from '../protocol/read';
import { addSite, notReady, type Reading } from './base';
import { contentSteps } from './content';
import { omitUnknown } from './fields';
import { htmlSteps } from './serialize';
import type { Steps } from './steps';
import { jsonLd, metaDate, shownDate, statedDate } from './structured';
import { normalize, textIn } from './text';
import { isEmbeddedVideo } from './video';
import { isVisible } from './visible';
import { isNeverText } from './walk';

const HOSTS = new Set(['lesswrong.com', 'www.lesswrong.com']);
const PATH = /^\/posts\/([A-Za-z0-9]+)(?:\/([^/]*))?(?:\/|$)/;
const AUTHORS = ['.PostsAuthors-authorName', '.LWPostsPageHeader-authorInfo', '.PostsAuthors-root'];

const metadata = exactly({
  slug: nonEmpty,
  title: optional(nonEmpty),
  htmlContent: nonEmpty,
  authorName: optional(nonEmpty),
  authorSlug: optional(nullable(nonEmpty)),
  tags: list(nonEmpty),
  publishedAt: optional(instant),
});

addSite({
  platform: 'LESSWRONG',
  displayName: 'LessWrong',
  publishes: 'posts',
  domains: ['lesswrong.com'],
  matches: ['https://lesswrong.com/*', 'https://www.lesswrong.com/*'],
  metadata: IN_WORKER ? metadata : onlyInWorker,
  // The server reads the text from the HTML.
  omits: ['observedContentText'],
  matchesUrl: (url) => postId(url) !== null,
  guess: postId,
  read: IN_PAGE ? read : onlyInPage,
});

function postId(url: URL): string | null {
  return HOSTS.has(url.hostname) ? (PATH.exec(url.pathname)?.[1] ?? null) : null;
}

function* read(doc: Document, url: URL): Steps<Reading> {
  const externalId = postId(url);
  if (externalId === null) return notReady('missing_identity');
  const bodies = [...doc.querySelectorAll('.PostsPage-postContent')].filter(
    (body) => isVisible(body) && isBodyOf(externalId, body.closest('#postBody'), url),
  );
  if (bodies.length > 1) return notReady('ambiguous_dom');
  const post = bodies[0]?.closest('#postBody');
  const root = bodies[0]?.querySelector('#postContent');
  if (!post || !root) return notReady('hydrating');

  const callouts = new Set(root.querySelectorAll('.LinkPostMessage-root'));
  const excluded = (element: Element): boolean => isNeverText(element) || callouts.has(element);
  const content = yield* contentSteps(root, url.href, excluded, isEmbeddedVideo);
  const author = authorLink(post);
  return {
    kind: 'ready',
    root,
    excluded,
    isNamed: true,
    html: () => htmlSteps(root, callouts),
    content: {
      platform: 'LESSWRONG',
      externalId,
      url: url.href,
      contentText: content.text,
      mediaState: content.mediaState,
      imageUrls: content.imageUrls,
      imageOccurrences: content.imageOccurrences,
      metadata: {
        ...omitUnknown({
          slug: PATH.exec(url.pathname)?.[2] || externalId,
          title: title(doc, post),
          authorName: textIn(author),
          tags: tags(post),
          publishedAt: metaDate(doc) ?? statedDate(post) ?? statedDate(doc) ?? shownDate(post) ?? shownDate(doc),
        }),
        authorSlug: authorSlug(author),
      },
    },
  };
}

function isBodyOf(externalId: string, post: Element | null, url: URL): boolean {
  if (post === null) return false;
  return jsonLd(post).some(({ url: stated }) => {
    const address = typeof stated === 'string' ? URL.parse(stated, url) : null;
    return address !== null && postId(address) === externalId;
  });
}

function title(doc: Document, post: Element): string | null {
  const longest = [...post.querySelectorAll('h1')]
    .map((heading) => normalize(heading.textContent))
    .reduce((best, one) => (one.length > best.length ? one : best), '');
  return longest || normalize(doc.title).replace(/\s*[-|·•:]\s*LessWrong(?:\s+2\.0)?$/i, '') || null;
}

function authorLink(post: Element): Element | null {
  for (const place of AUTHORS) {
    const link = post.querySelector(`${place} a[href*="/users/"]`);
    if (link !== null) return link;
  }
  return null;
}

function authorSlug(link: Element | null): string | null {
  return /\/users\/([^/?#]+)/.exec(link?.getAttribute('href') ?? '')?.[1] ?? null;
}

function tags(post: Element): string[] {
  return [...post.querySelectorAll('a[href*="/tag/"]')].map(textIn).filter((tag) => tag !== null);
}
