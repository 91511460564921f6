/**
 * What MediaWiki says of the page it has made: namespace, ids, revision, and what is being done with it.
 *
 * A content script does not see the page's variables, so the values are read from the inline script that sets them;
 * only where the page's own object can be seen is that asked first. Elements' names can pose as variables, so types are
 * checked.
 */

import { titleToken } from './wikipedia_url';

export interface PageConfig {
  namespace: number | null;
  pageId: string | null;
  revisionId: string | null;
  title: string | null;
  lastModifiedAt: string | null;
  /** `view`, `edit`, `submit`, `history` and the like. */
  action: string | null;
  isComparison: boolean;
}

type Lookup = (name: string) => unknown;

export function pageConfig(doc: Document): PageConfig {
  const own = ownConfig(doc);
  const scripts = configScripts(doc);
  const value: Lookup = (name) => own(name) ?? inScripts(scripts, name);
  const namespace = value('wgNamespaceNumber');
  const title = value('wgPageName');
  const action = value('wgAction');
  return {
    namespace: Number.isInteger(namespace) ? (namespace as number) : null,
    pageId: digits(value('wgArticleId')),
    revisionId: digits(value('wgRevisionId')),
    title: typeof title === 'string' ? titleToken(title) : null,
    lastModifiedAt: timestamp(value('wgRevisionTimestamp')),
    action: typeof action === 'string' ? action : null,
    isComparison: digits(value('wgDiffNewId')) !== null,
  };
}

function ownConfig(doc: Document): Lookup {
  const view = doc.defaultView as { mw?: { config?: { get?: unknown } } } | null;
  const config = view?.mw?.config;
  if (typeof config?.get !== 'function') return () => null;
  const get = config.get.bind(config) as Lookup;
  return (name) => get(name);
}

function configScripts(doc: Document): string[] {
  return [...doc.querySelectorAll('script:not([src])')]
    .map((script) => script.textContent)
    .filter((text) => text.includes('RLCONF') || text.includes('mw.config.set'));
}

/** The value of a key in object literals: a JSON string, a number, or null where neither follows the key. */
function inScripts(scripts: readonly string[], name: string): unknown {
  const entry = new RegExp(`[{,]\\s*(["']?)${name}\\1\\s*:\\s*(-?[0-9]+|"(?:[^"\\\\]|\\\\.)*")`);
  for (const script of scripts) {
    const literal = entry.exec(script)?.[2];
    if (literal === undefined) continue;
    try {
      return JSON.parse(literal);
    } catch {
      continue;
    }
  }
  return null;
}

function digits(value: unknown): string | null {
  const text = typeof value === 'number' || typeof value === 'string' ? String(value).trim() : '';
  return /^[0-9]+$/.test(text) ? text : null;
}

/** A moment that MediaWiki writes as 14 digits, in the wire's form. */
function timestamp(value: unknown): string | null {
  const parts = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)$/.exec(digits(value) ?? '');
  if (parts === null) return null;
  const [, year, month, day, hour, minute, second] = parts;
  const iso = `${year}-${month}-${day}T${hour}:${minute}:${second}.000Z`;
  const date = new Date(iso);
  return !Number.isNaN(date.getTime()) && date.toISOString() === iso ? iso : null;
}
