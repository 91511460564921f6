/**
 * What a reader means by "this site": all languages of an encyclopaedia are one, a publication's own domain is one.
 *
 * The switch in the popup, the background and the settings page must agree, or a site that was switched off keeps
 * sending.
 */
import { INSTALL_HOSTS } from '../hosts';
import { SITES } from '../platforms';

/** The name of a page's site; null for what is no page of the web. */
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

/** The permission pattern of a publication's own domain. */
export function sitePattern(host: string): string {
  return `https://${host}/*`;
}
