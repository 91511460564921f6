/**
 * Where the extension runs: the built-in sites, publications' own domains that the reader added, minus what is off.
 *
 * The browser's permission is the truth about an added domain: whenever it may have changed, the registered scripts are
 * brought in line with it, one change after the other.
 */
import type { PageSettings } from '../protocol/messages';
import { readSettings, type Settings, writeSettings } from '../settings/settings';
import { hostOf, isBuiltIn, siteOf, sitePattern } from '../settings/sites';
import type { Area, Scripts } from './ports';

/** What a content script on this page has to know. */
export function pageSettings(settings: Settings, url: string): PageSettings {
  return { active: isActive(settings, url), showHighlights: settings.showHighlights };
}

export function isActive({ sitesOff, sitesAdded }: Settings, url: string): boolean {
  const site = siteOf(url);
  if (site === null || sitesOff.includes(site)) return false;
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

  async add(host: string): Promise<void> {
    return this.#enqueue(async () => {
      const { sitesAdded } = await readSettings(this.#area);
      await writeSettings(this.#area, { sitesAdded: [...new Set([...sitesAdded, host])] });
      await this.#align();
    });
  }

  async remove(host: string): Promise<void> {
    return this.#enqueue(async () => {
      const { sitesAdded } = await readSettings(this.#area);
      await writeSettings(this.#area, { sitesAdded: sitesAdded.filter((added) => added !== host) });
      await this.#align();
      await this.#scripts.revokePermission(sitePattern(host));
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
    const { sitesAdded } = await readSettings(this.#area);
    const registered = await this.#scripts.registeredHosts();
    for (const host of new Set([...registered, ...sitesAdded])) {
      const wanted = sitesAdded.includes(host) && (await this.#scripts.hasPermission(sitePattern(host)));
      if (wanted && !registered.includes(host)) await this.#scripts.register(host, sitePattern(host));
      if (!wanted && registered.includes(host)) await this.#scripts.unregister(host);
    }
  }

  async #enqueue(step: () => Promise<void>): Promise<void> {
    const done = this.#last.then(step);
    this.#last = done.catch(() => undefined);
    return done;
  }
}
