/**
 * Pages in the markup of the two networks, written by us. Every place that is not the author's words holds a canary.
 */
export const WORDS = 'The Eiffel Tower is 330 m tall.\nIt was finished in 1889, says @bob #paris';
export const CANARIES = [
  'CanaryName',
  'canary-handle',
  'CanaryTime',
  'CanaryCount',
  'CanaryPreview',
  'CanaryLabel',
  'CanaryQuoted',
  'CanaryReason',
  'CanaryReply',
  'CanaryBadge',
  'CanaryTranslation',
] as const;

const text = (attributes: string, inner: string): string =>
  `<div dir="auto" style="white-space: pre-wrap" ${attributes}>${inner}</div>`;
/** The site keeps the line breaks of a record as they are. */
const OWN_WORDS =
  'The Eiffel Tower is 330&nbsp;m tall.\nIt was finished in <span>1889</span>, says ' +
  '<span><a href="/profile/bob.example" role="link">@bob</a></span> <a href="/hashtag/paris">#paris</a>';

interface Given {
  readonly rkey?: string;
  /** The text element's inside. */
  readonly words?: string;
  /** More of the text element's attributes. */
  readonly attributes?: string;
  readonly testId?: string;
  /** Whether the time carries the post's address. */
  readonly linked?: boolean;
}

function blueskyMeta(handle: string, rkey: string, linked: boolean): string {
  const time = 'CanaryTime 3h';
  return `<div><a href="/profile/${handle}"><img alt="CanaryName"></a>
    <div class="meta"><a href="/profile/${handle}">CanaryName</a><a href="/profile/${handle}">@${handle}</a>
    ${linked ? `<a href="/profile/${handle}/post/${rkey}" aria-label="CanaryTime">${time}</a>` : `<div>${time}</div>`}</div></div>`;
}

const BLUESKY_EMBED = `<div class="embed">
  <div><a role="link" href="https://news.example/a"><div dir="auto">CanaryPreview title</div><div dir="auto">CanaryPreview</div></a></div>
  <div role="link" tabindex="0">${blueskyMeta('canary-handle.other', '3quoted', true)}
    ${text('data-word-wrap="1"', 'CanaryQuoted words')}</div></div>`;
const BLUESKY_CONTROLS = `<div class="controls"><button data-testid="replyBtn"><div>CanaryCount 12</div></button>
  <button data-testid="likeBtn"><div>CanaryCount 1.2K</div></button>
  <a href="/profile/canary-handle.example/post/3own/liked-by">CanaryCount likes</a></div>`;

/** A post in a feed or, without a test id, in search results. */
export function blueskyPost(given: Given = {}): string {
  const { rkey = '3own', words = OWN_WORDS, attributes = '', linked = true } = given;
  const testId = given.testId === '' ? '' : `data-testid="${given.testId ?? 'feedItem-by-canary-handle.example'}"`;
  const inFeed = given.testId === undefined ? 'data-testid="postText"' : '';
  return `<div ${testId} role="link" tabindex="0" class="post">
    <div><a href="/profile/canary-handle.third">CanaryReason reposted</a></div>
    ${blueskyMeta('canary-handle.example', rkey, linked)}
    <div>Reply to <a href="/profile/canary-handle.parent">CanaryReply</a></div>
    <div data-testid="contentHider-post"><div>CanaryLabel</div>
      <div>${text(`${inFeed} data-word-wrap="1" ${attributes}`, `${words}<div>CanaryBadge 1/3</div>`)}</div>
      <div><div>Translated from CanaryTranslation</div><div dir="auto">CanaryTranslation</div></div>
      ${BLUESKY_EMBED}</div>${BLUESKY_CONTROLS}</div>`;
}

/** The post that a page is about. */
export function blueskyAnchor(): string {
  return `<div data-testid="postThreadItem-by-canary-handle.example" class="post">
    <div><a href="/profile/canary-handle.example"><div dir="auto">CanaryName</div><div dir="auto">@canary-handle.example</div></a></div>
    <div>${text('data-word-wrap="1"', OWN_WORDS)}${BLUESKY_EMBED}</div>
    <div><div dir="auto">CanaryTime</div><a href="https://translate.google.com/?text=x">Translate</a></div>${BLUESKY_CONTROLS}</div>`;
}

/** A later post of the reader view: words alone. */
export function blueskySegment(): string {
  return `<div class="segment"><div><div>${text('data-word-wrap="1"', 'The second of two posts that look like one.')}</div></div>
    <div class="seam"><button>CanaryCount</button></div></div>`;
}

interface GivenThread {
  readonly id?: string;
  /** What stands where the words do. */
  readonly body?: string;
  readonly linked?: boolean;
  readonly quote?: boolean;
}

const THREADS_WORDS = `<span dir="auto" class="x1"><span>The Eiffel Tower is 330&nbsp;m tall.<br>It was finished in 1889, says
  <a href="/@bob" role="link"><span dir="auto">@bob</span></a> <a href="/search?q=paris">#paris</a></span></span>`;

function threadsHead(user: string, id: string, linked: boolean): string {
  const time = '<time datetime="2026-11-20T10:00:00.000Z" title="CanaryTime"><span dir="auto">CanaryTime</span></time>';
  return `<div><a href="/@${user}" role="link"><img alt="CanaryName"></a></div>
    <div class="x2"><div><span dir="auto"><a href="/@${user}" role="link"><span dir="auto">${user}</span></a></span>
      <svg aria-label="CanaryBadge"></svg><span dir="auto"><a href="/search?q=t">CanaryLabel</a></span>
      <span dir="auto">CanaryBadge</span>${linked ? `<a href="/@${user}/post/${id}" role="link">${time}</a>` : time}</div></div>
    <div role="button"><svg aria-label="More"></svg></div>`;
}

export function threadsPost(given: GivenThread = {}): string {
  const { id = 'Cown', body = THREADS_WORDS, linked = true, quote = true } = given;
  return `<div data-pressable-container="true" class="post"><div><span dir="auto">CanaryReason reposted</span></div>
    ${threadsHead('canary-handle', id, linked)}
    <div class="x3"><div class="x4">${body}<div role="button"><span dir="auto">CanaryLabel Translate</span></div></div>
      <a href="https://l.threads.com/?u=https%3A%2F%2Fnews.example" role="link"><span dir="auto">CanaryPreview</span></a>
      ${quote ? `<div data-pressable-container="true">${threadsHead('other', 'Cquoted', true)}<div><span dir="auto">CanaryQuoted</span></div></div>` : ''}
      <div><div role="button"><svg aria-label="Like"></svg><span dir="auto">CanaryCount 12K</span></div>
        <a href="/@canary-handle/post/Cown/likes"><span dir="auto">CanaryCount likes</span></a></div></div></div>`;
}
