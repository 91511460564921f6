/**
 * Which results are one source: pages of one domain, and copies of one text.
 *
 * What people under one suffix share is decided by a short list instead of the public suffix list, which is as large as
 * the rest of the extension. A mistake joins or divides two families; it invents no source.
 */
import { LIMITS } from './given';
import type { Hit } from './sources';
import { fold } from './text';

/** How many sources of their own there are among results. */
export function countFamilies(hits: readonly Hit[]): number {
  const heads = hits.map((_, index) => index);
  const head = (at: number): number => (heads[at] === at ? at : head(heads[at]!));
  const owners = new Map<string, number>();
  hits.forEach((hit, index) => {
    for (const trait of traits(hit)) {
      const owner = owners.get(trait);
      if (owner === undefined) owners.set(trait, index);
      else heads[head(index)] = head(owner);
    }
  });
  return new Set(hits.map((_, index) => head(index))).size;
}

/** Whether a page is a post on a social network or stands where anybody may publish. */
export function isWeak(hit: Hit): boolean {
  const host = hostOf(hit.url);
  return host !== null && LIMITS.weakHosts.some((weak) => isUnder(host, weak));
}

/** The part of a host name that one owner holds. */
export function registrableDomain(host: string): string {
  const labels = host.split('.');
  const hosting = LIMITS.hosting.find((provider) => host.endsWith(`.${provider}`));
  if (hosting !== undefined) return labels.slice(-hosting.split('.').length - 1).join('.');
  if (host.startsWith('[') || /^[0-9]+$/.test(labels.at(-1)!)) return host;
  const isShared =
    labels.at(-1)!.length === 2 && (LIMITS.secondLevel as readonly string[]).includes(labels.at(-2) ?? '');
  return labels.slice(isShared ? -3 : -2).join('.');
}

function traits(hit: Hit): string[] {
  const host = hostOf(hit.url);
  const found = host === null ? [] : [`domain ${registrableDomain(host)}`];
  for (const [kind, text] of [
    ['title', fold(hit.title)],
    ['snippet', fold(hit.snippet)],
  ] as const) {
    if (text !== '') found.push(`${kind} ${text}`);
  }
  return found;
}

function isUnder(host: string, domain: string): boolean {
  return host === domain || host.endsWith(`.${domain}`);
}

function hostOf(url: string): string | null {
  return URL.canParse(url) ? new URL(url).hostname.replace(/\.$/, '') || null : null;
}
