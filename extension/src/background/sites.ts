/**
 * Where the extension runs: the built-in sites, hosts that the reader added, social networks where posts can be checked,
 * minus what is off.
 *
 * The browser's permission is the truth about an added host: whenever it may have changed, the registered scripts are
 * brought in line with it, one change after the other.
 */
import { FEEDS, feedFor } from '../feeds';
import type { FeedSite } from '../feeds/base';
import type { PageSettings } from '../protocol/messages';
import { readingMode, readSettings, type Settings, writeSettings } from '../settings/settings';
import { hostOf, isBuiltIn, siteOf, sitePattern, wantedHosts } from '../settings/sites';
import type { Area, Scripts } from './ports';

/** What a content script on this page has to know. */
export function pageSettings(settings: Settings, url: string): PageSettings {
  const feed = feedFor(new URL(url));
  return {
    active: isActive(settings, url),
    showHighlights: settings.showHighlights,
    checks: feed !== null && settings.verdictSites.includes(feed.site),
  };
}

export function isActive(settings: Settings, url: string): boolean {
  const { sitesOff, sitesAdded } = settings;
  const site = siteOf(url);
  if (site === null || readingMode(settings) === null || sitesOff.includes(site)) return false;
  return isBuiltIn(url) || sitesAdded.includes(hostOf(url) ?? '');
}

export class Sites {
  readonly #area: Area;
  readonly #scripts: Scripts;
  #last: Promise<void> = Promise.resolve();

  constructor(area: Area, scripts: Scripts) {
    this.#area = area;
    this.#scripts = scripts;
  }

  /** Run on a host; its site is no longer off. */
  async add(host: string): Promise<void> {
    return this.#enqueue(async () => {
      const { sitesAdded, sitesOff } = await readSettings(this.#area);
      const site = siteOf(`https://${host}`);
      await writeSettings(this.#area, {
        sitesAdded: [...new Set([...sitesAdded, host])],
        sitesOff: sitesOff.filter((name) => name !== site),
      });
      await this.#align();
    });
  }

  async remove(host: string): Promise<void> {
    return this.#enqueue(async () => {
      const { sitesAdded } = await readSettings(this.#area);
      await writeSettings(this.#area, { sitesAdded: sitesAdded.filter((added) => added !== host) });
      await this.#align();
      await this.#giveBack([host]);
    });
  }

  /** Let posts be checked on a social network, or no longer. */
  async setChecks(site: FeedSite, on: boolean): Promise<void> {
    return this.#enqueue(async () => {
      const { verdictSites } = await readSettings(this.#area);
      const others = verdictSites.filter((name) => name !== site);
      await writeSettings(this.#area, { verdictSites: on ? [...others, site] : others });
      await this.#align();
      if (!on) await this.#giveBack(FEEDS[site].hosts);
    });
  }

  async switch(site: string, off: boolean): Promise<void> {
    return this.#enqueue(async () => {
      const { sitesOff } = await readSettings(this.#area);
      const others = sitesOff.filter((name) => name !== site);
      await writeSettings(this.#area, { sitesOff: off ? [...others, site] : others });
    });
  }

  /** Bring the registered scripts in line with what is wanted and allowed. */
  async align(): Promise<void> {
    return this.#enqueue(() => this.#align());
  }

  async #align(): Promise<void> {
    const hosts = wantedHosts(await readSettings(this.#area));
    const registered = await this.#scripts.registeredHosts();
    for (const host of new Set([...registered, ...hosts])) {
      const wanted = hosts.includes(host) && (await this.#scripts.hasPermission(sitePattern(host)));
      if (wanted && !registered.includes(host)) await this.#scripts.register(host, sitePattern(host));
      if (!wanted && registered.includes(host)) await this.#scripts.unregister(host);
    }
  }

  /** Give permissions back that nothing needs any more. */
  async #giveBack(hosts: readonly string[]): Promise<void> {
    const wanted = wantedHosts(await readSettings(this.#area));
    for (const host of hosts) if (!wanted.includes(host)) await this.#scripts.revokePermission(sitePattern(host));
  }

  async #enqueue(step: () => Promise<void>): Promise<void> {
    const done = this.#last.then(step);
    this.#last = done.catch(() => undefined);
    return done;
  }
}
