/** Every site the extension knows, in the order in which they are asked. */

import type { Adapter } from './base';
import { lesswrong } from './lesswrong';
import { substack } from './substack';
import { wikipedia } from './wikipedia';
import { x } from './x';

export type * from './base';

export const ADAPTERS: readonly Adapter[] = [lesswrong, x, substack, wikipedia];

/** The site of a page: by its address, else by what only that site's pages show. */
export function adapterFor(url: URL, doc: Document): Adapter | null {
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return null;
  return (
    ADAPTERS.find((site) => site.matchesUrl(url)) ??
    ADAPTERS.find((site) => site.matchesDom?.(doc, url) === true) ??
    null
  );
}
