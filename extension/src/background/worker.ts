/**
 * The background put together: messages in, statuses out, everything else behind ports.
 *
 * The browser may end the worker between any two lines. So nothing is kept here that is not also in storage, and a
 * new worker goes on where the last one stopped.
 */
import {
  type CachedStatus,
  type FromContent,
  type FromPage,
  OtherVersion,
  type PageSettings,
  readFromContent,
  readFromPage,
  readMessage,
  type ToContent,
  write,
} from '../protocol/messages';
import { readPlatform } from '../protocol/observation';
import { having, literal, Malformed, nonEmpty, webUrl } from '../protocol/read';
import { displayed, type Outcome } from '../protocol/status';
import { publicUrl, serverAddress } from '../settings/address';
import { PAGE_KEYS, readSettings, SERVER_KEYS, writeSettings } from '../settings/settings';
import { badgeOf, NO_BADGE, UPGRADE_BADGE } from './badge';
import { Contact } from './contact';
import { Polling } from './polling';
import type { Alarm, Area, Clock, Pages, Scripts } from './ports';
import { Posts } from './posts';
import { backoffMs, refusal } from './retries';
import { Runs } from './runs';
import type { Net } from './server';
import { isActive, pageSettings, Sites } from './sites';
import { Tabs } from './tabs';

export interface Surroundings {
  readonly area: Area;
  readonly net: Net;
  readonly clock: Clock;
  readonly alarm: Alarm;
  readonly pages: Pages;
  readonly scripts: Scripts;
  readonly version: string;
}

/** Who sends a message: the script in a tab's page, or one of the extension's own pages. */
export type Sender =
  { readonly kind: 'content'; readonly tabId: number; readonly url: string } | { readonly kind: 'page' };

export type Reply = { readonly ok: boolean } & Readonly<Record<string, unknown>>;

const identity = having({
  type: literal('PAGE_CONTENT'),
  payload: having({
    tabSessionId: nonEmpty,
    content: having({ platform: readPlatform, externalId: nonEmpty, url: webUrl }),
  }),
});

export class Worker {
  readonly #around: Surroundings;
  readonly #tabs: Tabs;
  readonly #runs: Runs;
  readonly #contact: Contact;
  readonly #posts: Posts;
  readonly #polling: Polling;
  readonly sites: Sites;

  private constructor(around: Surroundings, tabs: Tabs, runs: Runs) {
    const { area, net, clock, alarm, scripts, version } = around;
    this.#around = around;
    this.#tabs = tabs;
    this.#runs = runs;
    this.#contact = new Contact(area, net, version, () => void this.#repaint());
    this.#posts = new Posts(tabs, runs, this.#contact, clock, {
      changed: (tabId) => void this.#announce(tabId),
      running: () => void this.#polling.now(),
      waiting: () => this.#polling.later(),
    });
    this.#polling = new Polling(() => this.#posts.poll(), alarm);
    this.sites = new Sites(area, scripts);
  }

  /** Go on where the last worker stopped. */
  static async begin(around: Surroundings): Promise<Worker> {
    const worker = new Worker(around, await Tabs.load(around.area), await Runs.load(around.area, around.clock));
    void worker.poll();
    return worker;
  }

  /** Ask about what runs. */
  async poll(): Promise<void> {
    return this.#polling.now();
  }

  /** Answer one message; whatever happens, there is an answer. */
  async receive(message: unknown, sender: Sender): Promise<Reply> {
    try {
      return sender.kind === 'content'
        ? await this.#fromContent(readMessage(readFromContent, message), sender.tabId, sender.url)
        : await this.#fromPage(readMessage(readFromPage, message));
    } catch (error) {
      if (error instanceof OtherVersion) {
        return { ok: false, error: error.message, errorCode: 'UNSUPPORTED_PROTOCOL_VERSION', retryAfterMs: null };
      }
      if (error instanceof Malformed) {
        if (sender.kind === 'content') await this.#unreadable(message, sender.tabId);
        return { ok: false, error: error.message, errorCode: 'INVALID_EXTENSION_MESSAGE', retryAfterMs: null };
      }
      console.error(error);
      return { ok: false, error: 'internal', retryAfterMs: backoffMs(5) };
    }
  }

  /** Claims were looked for on a tab's page. */
  async anchored(tabId: number, outcomes: Readonly<Record<string, Outcome>>): Promise<void> {
    return this.#posts.anchored(tabId, outcomes);
  }

  /** A tab loads something; null is an address that the extension may not see. Within a site its own script tells. */
  async loading(tabId: number, url: string | null): Promise<void> {
    const status = this.#tabs.get(tabId);
    if (status === null) return;
    if (url === null || new URL(url).origin !== new URL(status.pageUrl).origin) await this.#posts.forget(tabId);
  }

  async closed(tabId: number): Promise<void> {
    return this.#posts.forget(tabId);
  }

  /** Another run of the browser, or of the extension: nothing of the old tabs holds any more. */
  async restarted(): Promise<void> {
    await this.#tabs.clear();
    await this.sites.align();
  }

  /** Permissions came or went. */
  async permitted(): Promise<void> {
    await this.sites.align();
    for (const [tabId, { state }] of this.#tabs.all()) {
      if (state.kind === 'unanswered' && state.problem.kind === 'no_permission') this.#resync(tabId);
    }
    await this.#tellSettings();
  }

  /** Settings were changed, by whomever. */
  async changed(keys: readonly string[]): Promise<void> {
    if (SERVER_KEYS.some((key) => keys.includes(key))) {
      if (keys.includes('apiBaseUrl')) await this.#runs.clear();
      await this.#repaint();
      for (const [tabId] of this.#tabs.all()) this.#resync(tabId);
    }
    if ([...PAGE_KEYS, 'sitesAdded'].some((key) => keys.includes(key))) await this.#tellSettings();
  }

  /** A keyboard command. */
  async command(name: string): Promise<void> {
    const tabId = await this.#around.pages.active();
    if (name === 'toggle-highlights') {
      const { showHighlights } = await readSettings(this.#around.area);
      await writeSettings(this.#around.area, { showHighlights: !showHighlights });
    } else if (tabId !== null && (name === 'next-finding' || name === 'previous-finding')) {
      const to = name === 'next-finding' ? ('next' as const) : ('previous' as const);
      this.#tell(tabId, write('STEP', { to }));
    }
  }

  async #fromContent(message: FromContent, tabId: number, url: string): Promise<Reply> {
    const settings = await readSettings(this.#around.area);
    switch (message.type) {
      case 'HELLO': {
        await this.#posts.forget(tabId);
        const about: PageSettings = pageSettings(settings, url);
        return { ok: true, ...about };
      }
      case 'PAGE_CONTENT': {
        const { tabSessionId, content, attempt } = message.payload;
        if (!isActive(settings, url)) return { ok: false, error: 'switched off here', retryAfterMs: null };
        const trouble = await this.#posts.show(tabId, tabSessionId, content);
        return trouble === null ? { ok: true } : { ...refusal(trouble, attempt) };
      }
      case 'PAGE_SKIPPED': {
        const { tabSessionId, platform, externalId, pageUrl, reason } = message.payload;
        await this.#posts.skip(tabId, tabSessionId, platform, externalId, pageUrl, reason);
        return { ok: true };
      }
      case 'PAGE_RESET':
        await this.#posts.end(tabId, message.payload.tabSessionId);
        return { ok: true };
    }
  }

  async #fromPage(message: FromPage): Promise<Reply> {
    switch (message.type) {
      case 'GET_CACHED': {
        const upgrade = await this.#contact.upgrade();
        const cached: CachedStatus = {
          status: this.#tabs.get(message.payload.tabId),
          upgrade: upgrade && { minimumVersion: upgrade.minimumVersion },
        };
        return { ok: true, ...cached };
      }
      case 'INVESTIGATE_NOW':
        if (!(await this.#posts.investigate(message.payload.tabId))) this.#resync(message.payload.tabId);
        return { ok: true };
      case 'RETRY':
        if (this.#tabs.get(message.payload.tabId) !== null) this.#resync(message.payload.tabId);
        else await this.#around.scripts.start(message.payload.tabId);
        return { ok: true };
      case 'SET_HIGHLIGHTS':
        await writeSettings(this.#around.area, { showHighlights: message.payload.shown });
        return { ok: true };
      case 'SET_SITE':
        await this.sites.switch(message.payload.site, message.payload.off);
        return { ok: true };
      case 'ADD_SITE':
        await this.sites.add(message.payload.host);
        return { ok: true };
      case 'REMOVE_SITE':
        await this.sites.remove(message.payload.host);
        return { ok: true };
    }
  }

  /** A page's content that cannot be read is not sent; the reader is told as far as the page says what it is. */
  async #unreadable(message: unknown, tabId: number): Promise<void> {
    try {
      const { tabSessionId, content } = identity(message, 'message').payload;
      await this.#posts.unreadable(tabId, tabSessionId, content.platform, content.externalId, content.url);
    } catch (error) {
      if (!(error instanceof Malformed)) throw error;
    }
  }

  /** Tell a tab's page and button how its post stands; what is newest by then is told. */
  async #announce(tabId: number): Promise<void> {
    const [{ apiBaseUrl }, upgrade] = await Promise.all([this.#contact.settings(), this.#contact.upgrade()]);
    const status = this.#tabs.get(tabId);
    this.#around.pages.paint(tabId, upgrade === null ? badgeOf(status?.state ?? null) : UPGRADE_BADGE);
    if (status === null) return;
    this.#tell(
      tabId,
      write('STATE', {
        status,
        publicUrl: publicUrl(displayed(status.state)?.investigationId ?? null, serverAddress(apiBaseUrl).baseUrl),
      }),
    );
  }

  async #repaint(): Promise<void> {
    const upgrade = await this.#contact.upgrade();
    this.#around.pages.paint(null, upgrade === null ? NO_BADGE : UPGRADE_BADGE);
    for (const [tabId, { state }] of this.#tabs.all()) {
      this.#around.pages.paint(tabId, upgrade === null ? badgeOf(state) : UPGRADE_BADGE);
    }
  }

  async #tellSettings(): Promise<void> {
    const settings = await readSettings(this.#around.area);
    for (const { id, url } of await this.#around.pages.open()) {
      this.#tell(id, write('PAGE_SETTINGS', pageSettings(settings, url)));
    }
  }

  #resync(tabId: number): void {
    this.#tell(tabId, write('RESYNC', {}));
  }

  #tell(tabId: number, message: ToContent): void {
    this.#around.pages.tell(tabId, message);
  }
}
