/**
 * The browser's side of the recorded cases: our code on real documents, answers as plain data.
 *
 * Everything is exposed under one name; the other side calls it with JSON, so that lone surrogates survive the way.
 */

import { anchorClaims, type Quote } from '../src/anchoring';
import { walk as walkPage } from '../src/page/walk';
import { extract, siteFor, type Exclusion, type Reading, type Site } from '../src/platforms';
import { complete } from '../src/platforms/base';
import { readContent, type ExtractedContent } from '../src/platforms/content';
import { runToEnd } from '../src/platforms/steps';
import { normalize } from '../src/platforms/text';
import { isEmbeddedVideo } from '../src/platforms/video';
import { isNeverText } from '../src/platforms/walk';
import { articleRoot } from '../src/platforms/wikipedia';
import { excludedParts, isExcludedElement, isExcludedSection } from '../src/platforms/wikipedia_article';
import { articleUrl, titleToken } from '../src/platforms/wikipedia_url';

const nothing: Exclusion = () => false;

const questions = {
  normalize,

  htmlText: ({ html }: { html: string }) => readContent(division(html), document.URL, isNeverText, nothing).text,

  images({ html, baseUrl }: { html: string; baseUrl: string }) {
    const { text, imageUrls, imageOccurrences } = readContent(division(html), baseUrl, nothing, nothing);
    return { contentText: text, imageUrls, imageOccurrences };
  },

  /** An article's HTML as the page of an article shows it. */
  article({ html, url }: { html: string; url: string }) {
    const holder = division(html);
    holder.id = 'mw-content-text';
    document.body.replaceChildren(holder);
    configure({ wgNamespaceNumber: 0, wgArticleId: 1, wgRevisionId: 2 });
    const root = articleRoot(document) ?? holder;
    const parts = excludedParts(root);
    const { text, imageOccurrences } = readContent(root, url, (element) => parts.has(element), nothing);
    const site = siteFor(new URL(url), document);
    return {
      text,
      imageOccurrences,
      reading: shown(site === null ? null : runToEnd(site.read(document, new URL(url)))),
    };
  },

  /** The page as it is loaded, through its site's adapter. */
  extract({ mw }: { mw: Record<string, unknown> | null }) {
    if (mw !== null) configure(mw);
    const url = new URL(document.URL);
    const site: Site | null = siteFor(url, document);
    if (site === null) return { adapter: null };
    const reading = runToEnd(site.read(document, url));
    return {
      adapter: site.platform,
      private_or_gated: site.isGated?.(document, url) ?? null,
      result: shown(reading),
      withScripts: reading.kind === 'ready' ? withScripts(reading.root, url, reading.excluded) : null,
    };
  },

  /** What the page session reads of the page as it is loaded. */
  outcome() {
    const url = new URL(document.URL);
    const site = siteFor(url, document);
    const found = site === null ? null : runToEnd(extract(site, document, url));
    if (found?.kind !== 'ready') return found;
    return {
      kind: found.kind,
      content: runToEnd(complete(found)),
      isNamed: found.isNamed,
      root: found.root.id || found.root.className,
    };
  },

  markup: () => document.documentElement.outerHTML,

  /** The text inside so many elements, none of which a parser would have nested. */
  nestedText({ depth }: { depth: number }) {
    const root = document.createElement('div');
    let innermost: Element = root;
    for (let level = 0; level < depth; level += 1) innermost = innermost.appendChild(document.createElement('b'));
    innermost.append('deep');
    return readContent(root, document.URL, nothing, nothing).text;
  },

  anchor({ html, claims, exclude }: { html: string; claims: Quote[]; exclude: boolean }) {
    const root = division(html);
    const excluded: Exclusion = exclude
      ? (element) => isExcludedElement(element.localName, [...element.classList])
      : nothing;
    const page = walkPage(root, excluded);
    const { raw } = page.text;
    return {
      raw,
      normalized: normalize(raw),
      everything: root.textContent,
      checked: readContent(root, document.URL, (element) => excluded(element) || isNeverText(element), nothing).text,
      claims: anchorClaims(page.text, claims).map((one) =>
        one.outcome === 'anchored' ? { ...one, range: raw.slice(one.start, one.end) } : one,
      ),
    };
  },

  articleUrl: ({ url }: { url: string }) => {
    const address = URL.parse(url);
    return address && articleUrl(address);
  },
  titleToken: ({ token }: { token: string }) => titleToken(token),
  isExcludedSection: ({ title }: { title: string }) => isExcludedSection(title),
  isExcludedElement: ({ tagName, classTokens }: { tagName: string; classTokens: string[] }) =>
    isExcludedElement(tagName, classTokens),
};

export type Question = keyof typeof questions;

Object.assign(globalThis, {
  askVectors(question: Question, inputs: string): string {
    const ask = (input: unknown): unknown => (questions[question] as (input: unknown) => unknown)(input);
    return JSON.stringify((JSON.parse(inputs) as unknown[]).map((input) => ask(input) ?? null));
  },
});

function division(html: string): HTMLDivElement {
  const root = document.createElement('div');
  root.innerHTML = html;
  return root;
}

function configure(values: Record<string, unknown>): void {
  Object.assign(globalThis, { mw: { config: { get: (name: string) => values[name] ?? null } } });
}

function shown(reading: Reading | null) {
  if (reading === null) return null;
  return reading.kind === 'ready'
    ? { kind: reading.kind, content: runToEnd(complete(reading)) }
    : { kind: reading.kind, reason: reading.reason };
}

/** What the content would be if scripts and styles counted; null where there are none. */
function withScripts(root: Element, url: URL, excluded: Exclusion): ExtractedContent | null {
  if (root.querySelector('script, style, noscript') === null) return null;
  return readContent(root, url.href, (element) => excluded(element) && !isNeverText(element), isEmbeddedVideo);
}
