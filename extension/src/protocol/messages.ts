/**
 * Every message between the extension's parts, and what each is answered with.
 *
 * `content` is the script in a page, `background` the worker, `page` one of the extension's own pages (popup, options,
 * first run). Messages to the background are read strictly, because a page that takes over its own process can send
 * whatever it likes; those to the content script can only come from the extension. A change that an older part could
 * misread raises the version. Source: docs/protocol.md 5.4.
 */
import type { Anchoring, Quote } from '../anchoring/text';
import { FEED_SITES } from '../feeds/base';
import { readContent, readPlatform } from './observation';
import {
  count,
  exactly,
  flag,
  having,
  list,
  literal,
  Malformed,
  nonEmpty,
  type Of,
  oneOf,
  type Read,
  text,
  webUrl,
} from './read';
import type { TabStatus } from './status';
import { PROTOCOL_VERSION, type Message } from './wire';

export { ANCHOR_PORT, PROTOCOL_VERSION, write } from './wire';

const nothing = exactly({});
const skipReason = literal('has_video', 'word_count', 'no_text', 'private_or_gated', 'unsupported_content');
const host = nonEmpty;

function message<const T extends string, P>(type: T, payload: Read<P>) {
  return exactly({ v: literal(PROTOCOL_VERSION), type: literal(type), payload });
}

/** content → background. */
export const readFromContent = oneOf('type', {
  /** A content script begins in a new document. Answer: `Answer<PageSettings>`. */
  HELLO: message('HELLO', nothing),
  /** `attempt` counts from 0 for each session and decides how long to wait. Answer: `SyncAnswer`. */
  PAGE_CONTENT: message('PAGE_CONTENT', exactly({ tabSessionId: nonEmpty, attempt: count, content: readContent })),
  PAGE_SKIPPED: message(
    'PAGE_SKIPPED',
    exactly({
      tabSessionId: nonEmpty,
      platform: readPlatform,
      externalId: nonEmpty,
      pageUrl: webUrl,
      reason: skipReason,
    }),
  ),
  /** The tab no longer shows this session's post. */
  PAGE_RESET: message('PAGE_RESET', exactly({ tabSessionId: nonEmpty })),
});

/** page → background. */
export const readFromPage = oneOf('type', {
  /** Answer: `Answer<CachedStatus>`. */
  GET_CACHED: message('GET_CACHED', exactly({ tabId: count })),
  /** Answer: `Answer`. */
  INVESTIGATE_NOW: message('INVESTIGATE_NOW', exactly({ tabId: count })),
  /** Ask the page to send its content again. Answer: `Answer`. */
  RETRY: message('RETRY', exactly({ tabId: count })),
  SET_HIGHLIGHTS: message('SET_HIGHLIGHTS', exactly({ shown: flag })),
  SET_SITE: message('SET_SITE', exactly({ site: host, off: flag })),
  /** A reader wants the extension on a publication's own domain; the browser's permission decides. */
  ADD_SITE: message('ADD_SITE', exactly({ host })),
  REMOVE_SITE: message('REMOVE_SITE', exactly({ host })),
  /** Where posts can be checked; the browser's permission decides. */
  SET_CHECKS: message('SET_CHECKS', exactly({ site: literal(...FEED_SITES), on: flag })),
});

export type FromContent = Of<typeof readFromContent>;
export type FromPage = Of<typeof readFromPage>;

/** background → content. */
export type ToContent =
  | Message<'STATE', { readonly status: TabStatus; readonly publicUrl: string | null }>
  | Message<'PAGE_SETTINGS', PageSettings>
  /** Scroll to a finding and put the focus on it. Answer: `Answer`. */
  | Message<'FOCUS_CLAIM', { readonly claimId: string }>
  /** By the reader's keyboard command. */
  | Message<'STEP', { readonly to: 'next' | 'previous' }>
  /** By the reader's keyboard command or the popup. Answer: `Answer`. */
  | Message<'CHECK_POST', Record<string, never>>
  /** Send the page's content again, as a new session. */
  | Message<'RESYNC', Record<string, never>>;

/** What a content script has to know of the settings. */
export interface PageSettings {
  /** Not switched off for this site. */
  readonly active: boolean;
  readonly showHighlights: boolean;
  /** Posts here can be checked by the reader's own model. */
  readonly checks: boolean;
}

export type ErrorCode =
  | 'PAYLOAD_TOO_LARGE'
  | 'UPGRADE_REQUIRED'
  | 'MALFORMED_EXTENSION_VERSION'
  | 'INVALID_EXTENSION_MESSAGE'
  | 'UNSUPPORTED_PROTOCOL_VERSION';

export interface Failure {
  readonly ok: false;
  readonly error: string;
  readonly errorCode?: ErrorCode;
}

export type Answer<T = unknown> = ({ readonly ok: true } & T) | Failure;

/** Answered once the server has been asked. `retryAfterMs` is null where a retry would change nothing. */
export type SyncAnswer = { readonly ok: true } | (Failure & { readonly retryAfterMs: number | null });

export interface CachedStatus {
  readonly status: TabStatus | null;
  readonly upgrade: { readonly minimumVersion: string | null } | null;
}

/**
 * The port `ANCHOR_PORT`, on which a content script has claims anchored: any number of `TEXT`, then one `CLAIMS`, then the answer
 * comes as `AnchorAnswer` and the port closes. The text comes in pieces so that no single copy holds up the page;
 * should the worker end in between, the port closes without an answer and the content script starts again.
 */
const range: Read<readonly [number, number]> = (value, at) => {
  const [start, end] = list(count, { min: 2, max: 2 })(value, at);
  return [start!, end!];
};
const quote: Read<Quote> = exactly({ id: nonEmpty, text, context: text });

export const readAnchorMessage = oneOf('type', {
  TEXT: exactly({ type: literal('TEXT'), raw: text }),
  CLAIMS: exactly({ type: literal('CLAIMS'), breaks: list(count), markers: list(range), claims: list(quote) }),
});

export type AnchorMessage = Of<typeof readAnchorMessage>;

export interface AnchorAnswer {
  readonly anchorings: readonly Anchoring[];
}

/** A message of another version of the extension; a reload of the page or the browser brings both to one version. */
export class OtherVersion extends Error {}

const anyVersion = having({ v: (value: unknown) => value });

/** Read a message to the background. Raises: OtherVersion, Malformed. */
export function readMessage<T>(read: Read<T>, received: unknown): T {
  const { v } = anyVersion(received, 'message');
  if (v === undefined) throw new Malformed('message.v', 'a version');
  if (v !== PROTOCOL_VERSION) throw new OtherVersion(`protocol version ${JSON.stringify(v).slice(0, 10)}`);
  return read(received, 'message');
}
