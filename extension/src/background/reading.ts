/**
 * Whether the server is given the post in a tab or only asked for its bucket, as the reader has chosen.
 *
 * A private reader can give it one post by asking for an investigation: then the specified protocol is used, for this
 * page and until it shows something else.
 */
import type { ObservedContent } from '../protocol/observation';
import { readingMode, readSettings } from '../settings/settings';
import { Agreements } from './agreements';
import type { Area, Timer } from './ports';
import type { Posts, SyncProblem } from './posts';
import type { PrivatePosts } from './private_posts';
import type { Retractions } from './retractions';
import type { Tabs } from './tabs';

export interface Parts {
  readonly area: Area;
  readonly tabs: Tabs;
  readonly posts: Posts;
  readonly privately: PrivatePosts;
  readonly retractions: Retractions;
  readonly refreshTimer: Timer;
}

export class Reading {
  readonly #parts: Parts;
  readonly #agreements = new Agreements();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** A page shows a post. */
  async show(tabId: number, session: string, content: ObservedContent): Promise<SyncProblem> {
    const { area, posts, privately, retractions, refreshTimer } = this.#parts;
    const mode = readingMode(await readSettings(area));
    let trouble: SyncProblem = null;
    if (mode === 'full') trouble = await posts.show(tabId, session, content);
    else if (this.#agreements.accepts(tabId, session, content)) trouble = await this.#give(tabId, session, content);
    else if (mode === 'private') {
      trouble = await privately.show(tabId, session, content);
      refreshTimer.ensure(refreshMinutes());
    }
    void retractions.compare(mode === 'private').catch(console.error);
    return trouble;
  }

  /** The reader wants an investigation; false means that the page has to send its content again first. */
  async investigate(tabId: number): Promise<boolean> {
    const status = this.#parts.tabs.get(tabId);
    if (status?.lookup == null) return this.#parts.posts.investigate(tabId);
    this.#agreements.agree(tabId, status);
    return false;
  }

  /** Look again for what is open. */
  async refresh(): Promise<void> {
    const { area, privately, retractions, refreshTimer } = this.#parts;
    await privately.refresh();
    await retractions.compare(readingMode(await readSettings(area)) === 'private');
    if (privately.any) refreshTimer.ensure(refreshMinutes());
  }

  async #give(tabId: number, session: string, content: ObservedContent): Promise<SyncProblem> {
    const trouble = await this.#parts.posts.show(tabId, session, content);
    const wanted = this.#parts.tabs.get(tabId)?.state.kind === 'not_investigated';
    if (trouble === null && wanted) await this.#parts.posts.investigate(tabId);
    return trouble;
  }
}

/** Minutes until the next look, drawn so that readers who opened a page together do not ask together again. */
function refreshMinutes(): number {
  return 10 * (0.7 + 0.6 * Math.random());
}
