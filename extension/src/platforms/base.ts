/**
 * What the extension needs to know of a site, and the order in which it is asked.
 *
 * Everything here is a pure reading of a document: nothing is fetched, stored or changed on the page. Whether a page is
 * gated is decided before anything is read from it, so that the text of a private page never reaches a message.
 */

import type { Steps } from './steps';

export type PlatformName = 'LESSWRONG' | 'X' | 'SUBSTACK' | 'WIKIPEDIA';

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
  platform: PlatformName;
  externalId: string;
  url: string;
  contentText: string;
  mediaState: MediaState;
  imageUrls: string[];
  imageOccurrences: ImageOccurrence[];
  metadata: Metadata;
}

/** A post's identity as far as its address tells; the site may know it by another. */
export interface IdentityGuess {
  platform: PlatformName;
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
  platform: PlatformName;
  externalId?: string;
}

export type Reading = Ready | NotReady;
export type Extraction = Reading | Gated;

/** What one site's file gives. */
export interface Site {
  readonly platform: PlatformName;
  matchesUrl(url: URL): boolean;
  /** Recognise the site under a host name of somebody else's. */
  matchesDom?(doc: Document, url: URL): boolean;
  /** Whether only some readers may see this page. */
  isGated?(doc: Document, url: URL): boolean;
  /** Name the post from its address alone. */
  guess(url: URL): string | null;
  read(doc: Document, url: URL): Steps<Reading>;
}

/** A site as the page session uses it. */
export interface Adapter extends Site {
  extract(doc: Document, url: URL): Steps<Extraction>;
}

/** Put the gate before the reading, and the guessed identity onto what is not ready. */
export function adapter(site: Site): Adapter {
  return {
    ...site,
    *extract(doc, url) {
      const { platform } = site;
      const externalId = site.guess(url);
      if (site.isGated?.(doc, url)) {
        return externalId === null ? { kind: 'gated', platform } : { kind: 'gated', platform, externalId };
      }
      const reading = yield* site.read(doc, url);
      if (reading.kind === 'ready' || externalId === null) return reading;
      return { ...reading, identityGuess: { platform, externalId } };
    },
  };
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
