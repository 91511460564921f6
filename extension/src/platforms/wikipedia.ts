/**
 * Wikipedia: every language, desktop and mobile, at the revision that is shown.
 *
 * What is sent names the revision, and the server asks for exactly that one. An article without both its numbers has no
 * identity; talk, user and project pages are none. What somebody is writing (an editor, its preview) is not published:
 * only a page that shows a stored revision to be read is read.
 */
import { IN_PAGE, IN_WORKER, onlyInPage, onlyInWorker } from '../builds';
import { digits, exactly, instant, matching, nonEmpty, optional } from '../protocol/read';
import { addSite, notReady, type Reading } from './base';
import { contentSteps } from './content';
import { omitUnknown } from './fields';
import { sendableSteps } from './serialize';
import type { Steps } from './steps';
import { textIn } from './text';
import { attributeOf } from './tree';
import { excludedSteps } from './wikipedia_article';
import { pageConfig } from './wikipedia_config';
import { articleUrl, asksForMore, wikipediaLanguage } from './wikipedia_url';

/** A class among others, read from the attribute: a `classList` would be an object for each element. */
const PLAYER = /(?:^|\s)mw-tmh-play(?:er)?(?:\s|$)/;

const metadata = exactly({
  language: matching(/^[a-z][a-z0-9-]*$/i, 'a language'),
  title: nonEmpty,
  pageId: digits,
  revisionId: digits,
  displayTitle: optional(nonEmpty),
  lastModifiedAt: optional(instant),
  htmlContent: optional(nonEmpty),
});

addSite({
  platform: 'WIKIPEDIA',
  displayName: 'Wikipedia',
  publishes: 'articles',
  domains: ['wikipedia.org'],
  matches: ['https://*.wikipedia.org/*'],
  metadata: IN_WORKER ? metadata : onlyInWorker,
  // It follows from the language and the page's number.
  omits: ['externalId'],
  matchesUrl: (url) => wikipediaLanguage(url) !== null,
  guess: guessedId,
  read: IN_PAGE ? read : onlyInPage,
});

function guessedId(url: URL): string | null {
  const page = articleUrl(url);
  return page === null ? null : `${page.language}:${page.pageId ?? page.title}`;
}

function* read(doc: Document, url: URL): Steps<Reading> {
  const page = articleUrl(url);
  if (page === null) return notReady('missing_identity');
  const config = pageConfig(doc);
  if (config.namespace !== null && config.namespace !== 0) return notReady('unsupported');
  if (asksForMore(url) || (config.action ?? 'view') !== 'view' || config.isComparison) return notReady('unsupported');
  const { pageId } = config;
  // The number of what is not saved yet.
  const revisionId = Number(config.revisionId) === 0 ? null : config.revisionId;
  const title = page.title ?? config.title;
  if (config.namespace === null || pageId === null || revisionId === null || title === null) {
    return notReady('missing_identity');
  }
  const root = articleRoot(doc);
  if (root === null) return notReady('hydrating');

  const parts = yield* excludedSteps(root, page.language);
  const excluded = (element: Element): boolean => parts.has(element);
  const content = yield* contentSteps(root, url.href, excluded, isVideo);
  if (content.text === '') return notReady('unsupported');
  return {
    kind: 'ready',
    root,
    scope: root,
    excluded,
    // After a redirect the page names another title than its address; that alone does not make it another article.
    isNamed: page.title === null ? page.pageId === pageId : page.title === config.title,
    html: () => sendableSteps(root, parts),
    content: {
      platform: 'WIKIPEDIA',
      externalId: `${page.language}:${pageId}`,
      url: url.href,
      contentText: content.text,
      mediaState: content.mediaState,
      imageUrls: content.imageUrls,
      imageOccurrences: content.imageOccurrences,
      metadata: omitUnknown({
        language: page.language,
        title,
        pageId,
        revisionId,
        displayTitle: textIn(doc.querySelector('#firstHeading')),
        lastModifiedAt: config.lastModifiedAt,
      }),
    },
  };
}

/** The element that holds an article's text. */
export function articleRoot(doc: ParentNode): Element | null {
  return doc.querySelector('#mw-content-text .mw-parser-output') ?? doc.querySelector('#mw-content-text');
}

function isVideo(element: Element, name: string): boolean {
  if (name === 'video' || name === 'audio') return true;
  if (name === 'source') return /^(?:video|audio)\//.test(element.getAttribute('type') ?? '');
  const classes = attributeOf(element, 'class');
  return classes !== null && PLAYER.test(classes);
}
