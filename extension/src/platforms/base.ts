/**
 * What the extension needs to know of a site, and the order in which sites are asked.
 *
 * Everything here is a pure reading of a document: nothing is fetched, stored or changed on the page. Whether a page is
 * gated is decided before anything is read from it, so that the text of a private page never reaches a message.
 */

import type { Read } from '../protocol/read';
import type { Steps } from './steps';

export type MediaState = 'text_only' | 'has_images' | 'has_video';

export type NotReadyReason = 'hydrating' | 'ambiguous_dom' | 'missing_identity' | 'unsupported';

/** Where a picture stands: offsets count UTF-16 units of the normalised text before it. */
export interface ImageOccurrence {
  originalIndex: number;
  normalizedTextOffset: number;
  sourceUrl: string;
  captionText?: string;
}

export type Metadata = Record<string, string | number | null | string[]>;

export interface PageContent {
  platform: string;
  externalId: string;
  url: string;
  contentText: string;
  mediaState: MediaState;
  imageUrls: string[];
  imageOccurrences: ImageOccurrence[];
  metadata: Metadata;
}

/** A post's identity as its address gives it; the site may use another. */
export interface IdentityGuess {
  platform: string;
  externalId: string;
}

/** Whether an element, with all it holds, is no part of the content. */
export type Exclusion = (element: Element) => boolean;

export interface Ready {
  kind: 'ready';
  /** All but the HTML. */
  content: PageContent;
  /** The HTML to be sent beside the content, null for none. Made only for what is sent: nothing costs more. */
  readonly html: () => Steps<string | null>;
  /** The live element that holds the content. */
  root: Element;
  /** Changes outside of it leave the reading as it is; absent where the surroundings count. */
  scope?: Element;
  excluded: Exclusion;
  /** Whether the page itself says that it shows the post of its address. If not, it may still show the one before. */
  isNamed: boolean;
}

export interface NotReady {
  kind: 'not_ready';
  reason: NotReadyReason;
  identityGuess?: IdentityGuess;
}

export interface Gated {
  kind: 'gated';
  platform: string;
  externalId?: string;
}

export type Reading = Ready | NotReady;
export type Extraction = Reading | Gated;

/** Recognises a site under a publication's own domain. */
export interface CustomDomain {
  /** Whether the address has the form of a post's. */
  isPost(url: URL): boolean;
  /** Selector of what only pages of this site show. */
  readonly marks: string;
}

/** Everything the extension knows of one site. */
export interface Site {
  /** The name on the wire. */
  readonly platform: string;
  /** The name as readers know it. */
  readonly displayName: string;
  readonly publishes: 'posts' | 'articles';
  /** Host names that mean this site with all their subdomains; settings keep the first. */
  readonly domains: readonly [string, ...string[]];
  /**
   * Match patterns asked for at installation. Each is https, and has a whole host or `*.` before one. None: the site is
   * off until a reader switches it on, and its first domain is asked for then.
   */
  readonly matches: readonly string[];
  readonly customDomain?: CustomDomain;
  /** The server cannot ask this site for a post. */
  readonly unsourced?: true;
  /** The metadata that a registration may carry. */
  readonly metadata: Read<Readonly<Record<string, unknown>>>;
  /** Fields of a registration that the server takes from elsewhere. */
  readonly omits?: readonly ('externalId' | 'observedContentText')[];
  matchesUrl(url: URL): boolean;
  /** Whether only some readers may see this page. */
  isGated?(doc: Document, url: URL): boolean;
  /** Name the post from its address alone. */
  guess(url: URL): string | null;
  read(doc: Document, url: URL): Steps<Reading>;
}

const added: Site[] = [];

/** Add a site to `SITES`, which `./index` exports complete. */
export function addSite(site: Site): Site {
  added.push(site);
  return site;
}

/** The sites added so far, in that order. */
export function addedSites(): readonly Site[] {
  return added;
}

/** Marks of a page that the browser shows in translation: its words are not the author's. Firefox leaves none. */
const TRANSLATED = 'html.translated-ltr, html.translated-rtl, [_msttexthash]';

/** Read a page: first whether it is gated, then its content; a page that is not ready gets the guessed identity. */
export function* extract(site: Site, doc: Document, url: URL): Steps<Extraction> {
  const { platform } = site;
  const externalId = site.guess(url);
  if (site.isGated?.(doc, url)) {
    return externalId === null ? { kind: 'gated', platform } : { kind: 'gated', platform, externalId };
  }
  const isTranslated = doc.querySelector(TRANSLATED) !== null;
  const reading = isTranslated ? notReady('ambiguous_dom') : yield* site.read(doc, url);
  if (reading.kind === 'ready' || externalId === null) return reading;
  return { ...reading, identityGuess: { platform, externalId } };
}

export function notReady(reason: NotReadyReason): NotReady {
  return { kind: 'not_ready', reason };
}

/** A post without HTML of its own. */

export function* noHtml(): Steps<null> {
  return null;
}

/** The content with its HTML. */
export function* complete({ content, html }: Ready): Steps<PageContent> {
  const htmlContent = yield* html();
  return htmlContent === null ? content : { ...content, metadata: { ...content.metadata, htmlContent } };
}
