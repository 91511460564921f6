/**
 * Which article an address of Wikipedia names.
 *
 * The server refuses what does not agree with the address, so both sides read it by the same rule.
 * Source: docs/protocol.md 3.5.
 */

export interface ArticleUrl {
  language: string;
  /** With underscores; null where the address gives a number only. */
  title: string | null;
  pageId: string | null;
}

const HOST = /^([a-z0-9-]+)(?:\.m)?\.wikipedia\.org$/;
const DIGITS = /^[0-9]+$/;
const WITH_TALK_PAGES = [
  'user', 'wikipedia', 'file', 'mediawiki', 'template', 'help', 'category', 'portal', 'book', 'draft',
  'education program', 'timedtext', 'module',
]; // prettier-ignore
/** English names of the namespaces that hold no articles; others are known by the page's own number. */
const NOT_ARTICLES = new Set([
  'talk',
  'special',
  'media',
  ...WITH_TALK_PAGES,
  ...WITH_TALK_PAGES.map((name) => `${name} talk`),
]);

/** The language of a Wikipedia's host, desktop or mobile; null for any other host. */
export function wikipediaLanguage(url: URL): string | null {
  return HOST.exec(url.hostname)?.[1] ?? null;
}

/** Read the address of an article; null for any other page. */
export function articleUrl(url: URL): ArticleUrl | null {
  const language = wikipediaLanguage(url);
  const title = titleIn(url);
  const pageId = pageIdIn(url);
  if (language === null || (title === null && pageId === null)) return null;
  if (title !== null && title.includes(':') && NOT_ARTICLES.has(namespace(title))) return null;
  return { language, title, pageId };
}

/** Whether an address asks for something else than to read an article: to edit it, to compare it, to see its history. */
export function asksForMore(url: URL): boolean {
  const given = url.searchParams;
  return (given.get('action') ?? 'view') !== 'view' || given.has('diff') || given.has('veaction');
}

/** Bring a title into the form of addresses: underscores for gaps; null if nothing is left. */
export function titleToken(title: string): string | null {
  return (
    title
      .replace(/[\s_]+/g, ' ')
      .trim()
      .replaceAll(' ', '_') || null
  );
}

function titleIn(url: URL): string | null {
  if (url.pathname === '/w/index.php') return titleToken(url.searchParams.get('title') ?? '');
  if (!url.pathname.startsWith('/wiki/')) return null;
  try {
    return titleToken(decodeURIComponent(url.pathname.slice('/wiki/'.length)));
  } catch {
    return null;
  }
}

function pageIdIn(url: URL): string | null {
  const given = ['curid', 'pageid'].map((name) => (url.searchParams.get(name) ?? '').trim());
  return given.find((id) => DIGITS.test(id)) ?? null;
}

function namespace(title: string): string {
  return (title.split(':', 1)[0] ?? '').replaceAll('_', ' ').trim().toLowerCase();
}
