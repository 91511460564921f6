/**
 * What a reader means by "this site": all languages of an encyclopaedia are one, a publication's own domain is one.
 *
 * The switch in the popup, the background and the settings page must agree, or a site that was switched off keeps
 * sending.
 */
import { FEEDS } from '../feeds';
import { INSTALL_HOSTS } from '../hosts';
import { SITES, type Site } from '../platforms';
import type { Settings } from './settings';

/** The name of a page's site; null for what is not a page of the web. */
export function siteOf(url: string): string | null {
  const host = hostOf(url);
  if (host === null) return null;
  const known = SITES.find(({ domains }) => domains.some((name) => host === name || host.endsWith(`.${name}`)));
  return known?.domains[0] ?? host;
}

/** The host of a page of the web. */
export function hostOf(url: string): string | null {
  if (!URL.canParse(url)) return null;
  const { protocol, hostname } = new URL(url);
  return (protocol === 'https:' || protocol === 'http:') && hostname !== '' ? hostname : null;
}

/** Whether the extension runs on a page without having been added there. */
export function isBuiltIn(url: string): boolean {
  const host = hostOf(url);
  if (host === null || !url.startsWith('https:')) return false;
  return INSTALL_HOSTS.some((pattern) => {
    const named = pattern.slice('https://'.length, -'/*'.length);
    return named.startsWith('*.') ? host === named.slice(2) || host.endsWith(named.slice(1)) : host === named;
  });
}

/** The sites that are off until a reader switches them on, and that this reader has not switched on. */
export function sitesToSwitchOn(added: readonly string[]): readonly Site[] {
  return SITES.filter(({ matches, domains: [host] }) => matches.length === 0 && !added.includes(host));
}

/** The permission pattern of a host that a reader adds. */
export function sitePattern(host: string): string {
  return `https://${host}/*`;
}

/** Hosts where the content script is wanted beyond those of the installation. */
export function wantedHosts({ sitesAdded, verdictSites }: Settings): readonly string[] {
  const feeds = Object.values(FEEDS).filter(({ site }) => verdictSites.includes(site));
  return [...new Set([...sitesAdded, ...feeds.flatMap(({ hosts }) => hosts)])];
}
