/** Sets the toolbar button of each tab, and of all others. */
import { readNotices } from '../settings/notices';
import { type Badge, badgeOf, NO_BADGE, RETRACTED_BADGE, UPGRADE_BADGE } from './badge';
import type { Area, Pages } from './ports';
import type { ServerClient } from './server_client';
import type { Tabs } from './tabs';

export class Badges {
  readonly #area: Area;
  readonly #pages: Pages;
  readonly #client: ServerClient;
  readonly #tabs: Tabs;

  constructor(area: Area, pages: Pages, client: ServerClient, tabs: Tabs) {
    this.#area = area;
    this.#pages = pages;
    this.#client = client;
    this.#tabs = tabs;
  }

  /** Set a tab's button to the state of its post. */
  async set(tabId: number): Promise<void> {
    const everywhere = await this.#everywhere();
    this.#pages.setBadge(tabId, pick(everywhere, badgeOf(this.#tabs.get(tabId)?.state ?? null)));
  }

  /** Set all buttons anew. */
  async update(): Promise<void> {
    const everywhere = await this.#everywhere();
    this.#pages.setBadge(null, everywhere);
    for (const [tabId, { state }] of this.#tabs.all()) this.#pages.setBadge(tabId, pick(everywhere, badgeOf(state)));
  }

  async #everywhere(): Promise<Badge> {
    if ((await this.#client.upgrade()) !== null) return UPGRADE_BADGE;
    return (await readNotices(this.#area)).length > 0 ? RETRACTED_BADGE : NO_BADGE;
  }
}

/** A tab's own badge, unless it has none or the extension is too old to work. */
function pick(everywhere: Badge, own: Badge): Badge {
  return everywhere === UPGRADE_BADGE || own === NO_BADGE ? everywhere : own;
}
