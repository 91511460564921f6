/** The smallest pages that each site's rules accept, with places for what a test changes. */

export interface Parts {
  head?: string;
  before?: string;
  body?: string;
  after?: string;
}

export const LESSWRONG = 'https://www.lesswrong.com/posts/Ab12/a-slug';
export const TWEET = 'https://x.com/ada/status/77';
export const SUBSTACK = 'https://letters.substack.com/p/on-bread';
export const WIKIPEDIA = 'https://de.wikipedia.org/wiki/Brot';

const PREVIEW = 'https%3A%2F%2Fletters.substack.com%2Fapi%2Fv1%2Fpost_preview%2F4711%2Ftwitter.jpg';

export function page(head: string, body: string): string {
  return `<!doctype html><html><head><meta charset="utf-8">${head}</head><body>${body}</body></html>`;
}

export function lesswrongPost(
  { before = '', body = '<p>Bread.</p>', after = '' }: Parts = {},
  id = 'Ab12',
  style = '',
): string {
  return `<div id="postBody"><script type="application/ld+json">{"url":"https://www.lesswrong.com/posts/${id}/s"}</script>
    <h1>On bread</h1>${before}<div class="PostsPage-postContent" style="${style}"><div id="postContent">${body}</div></div>${after}</div>`;
}

export function lesswrong(parts: Parts = {}): string {
  return page(parts.head ?? '', lesswrongPost(parts));
}

export function tweet(
  { head = '', before = '', body = 'Bread.', after = '' }: Parts = {},
  path = '/ada/status/77',
): string {
  return page(
    head,
    `<div data-testid="primaryColumn">${before}<article><div data-testid="User-Name"><a href="/ada">Ada</a> @ada</div>
     <a href="${path}"><time datetime="2026-03-04T05:06:07Z"></time></a><div data-testid="tweetText">${body}</div>${after}</article></div>`,
  );
}

export function substack({ head = '', before = '', body = '<p>Bread.</p>', after = '' }: Parts = {}): string {
  return page(
    `<title>On bread</title><meta name="author" content="Ada"><meta property="og:image" content="https://cdn.example/${PREVIEW}">${head}`,
    `<main>${before}<article><h1 class="post-title">On bread</h1><div class="body markup">${body}</div></article>${after}</main>`,
  );
}

export function wikipedia(
  { head = '', body = '<p>Brot.</p>' }: Parts = {},
  config: Record<string, unknown> = {},
): string {
  const values = { wgNamespaceNumber: 0, wgPageName: 'Brot', wgArticleId: 12, wgRevisionId: 34, ...config };
  return page(
    `<script>RLCONF=${JSON.stringify(values)};</script>${head}`,
    `<h1 id="firstHeading">Brot</h1><div id="mw-content-text"><div class="mw-parser-output" lang="de">${body}</div></div>`,
  );
}
