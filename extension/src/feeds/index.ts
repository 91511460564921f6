/** The social networks whose posts a reader can have checked. */
import { matches, type Feed, type FeedSite } from './base';
import { BLUESKY } from './bluesky';
import { THREADS } from './threads';

export const FEEDS: Readonly<Record<FeedSite, Feed>> = { 'bsky.app': BLUESKY, 'threads.com': THREADS };

/** The feed that reads pages at an address. */
export function feedFor(url: URL): Feed | null {
  return Object.values(FEEDS).find((feed) => matches(feed, url)) ?? null;
}
