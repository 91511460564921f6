/**
 * Every site the extension knows: one line a site, in the order in which they are asked and named to readers.
 */
import './lesswrong';
import './x';
import './substack';
import './wikipedia';
import './bluesky';

import { addedSites, type Site } from './base';

export type * from './base';
export { extract } from './base';

export const SITES: readonly Site[] = addedSites();

/** The site of a page: by its address, else by what only that site's pages show. */
export function siteFor(url: URL, doc: Document): Site | null {
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return null;
  return (
    SITES.find((site) => site.matchesUrl(url)) ??
    SITES.find(
      ({ customDomain }) => customDomain?.isPost(url) === true && doc.querySelector(customDomain.marks) !== null,
    ) ??
    null
  );
}
