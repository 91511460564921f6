/**
 * The background put together: messages in, statuses out, everything else behind ports.
 *
 * The browser may end the worker between any two lines. So nothing is kept here that is not also in storage, and a
 * new worker continues where the last one stopped.
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
import { displayedClaims, type AnchorOutcome } from '../protocol/status';
import { publicUrl } from '../settings/address';
import { NOTICES_KEY } from '../settings/notices';
import { PAGE_KEYS, readSettings, SERVER_KEYS, writeSettings } from '../settings/settings';
import { Badges } from './badges';
import { Hints } from './hints';
import { LogProofs } from './log_proofs';
import { LookupFiles } from './lookup_files';
import { ServerClient } from './server_client';
import { Polling } from './polling';
import type { Alarm, Area, Clock, Pages, Scripts, Timer } from './ports';
import { Posts } from './posts';
import { PrivatePosts } from './private_posts';
import { Reading } from './reading';
import { Retractions } from './retractions';
import { backoffMs, refusal } from './retries';
import { Runs } from './runs';
import type { Net } from './server';
import { isActive, pageSettings, Sites } from './sites';
import { Tabs } from './tabs';

export interface Dependencies {
  readonly area: Area;
  /** Kept until the browser ends. */
  readonly memory: Area;
  readonly net: Net;
  readonly clock: Clock;
  readonly alarm: Alarm;
  readonly refreshTimer: Timer;
  /** Wakes the worker for the next hint. Units: minutes from now. */
  readonly wakeForHint: (minutes: number) => void;
  readonly pages: Pages;
  readonly scripts: Scripts;
  readonly version: string;
}

/** The sender of a message: the script in a tab's page, or one of the extension's own pages. */
export type Sender =
  | {
      readonly kind: 'content';
      readonly tabId: number;
      readonly url: string;
      readonly leavesNoTrace?: boolean | undefined;
    }
  | { readonly kind: 'page' };

export type MessageReply = { readonly ok: boolean } & Readonly<Record<string, unknown>>;

const identity = having({
  type: literal('PAGE_CONTENT'),
  payload: having({
    tabSessionId: nonEmpty,
    content: having({ platform: readPlatform, externalId: nonEmpty, url: webUrl }),
  }),
});

export class Worker {
  readonly #dependencies: Dependencies;
  readonly #tabs: Tabs;
  readonly #runs: Runs;
  readonly #client: ServerClient;
  readonly #badges: Badges;
  readonly #proofs: LogProofs;
  readonly #posts: Posts;
  readonly #reading: Reading;
  readonly #retractions: Retractions;
  readonly #hints: Hints;
  readonly #polling: Polling;
  readonly sites: Sites;

  private constructor(dependencies: Dependencies, tabs: Tabs, runs: Runs) {
    const { area, memory, net, clock, alarm, refreshTimer, scripts, version } = dependencies;
    this.#dependencies = dependencies;
    this.#tabs = tabs;
    this.#runs = runs;
    this.#client = new ServerClient(area, net, version, () => void this.#badges.update());
    this.#badges = new Badges(area, dependencies.pages, this.#client, tabs);
    this.#proofs = new LogProofs(area, memory, this.#client, clock);
    this.#posts = new Posts(tabs, runs, this.#client, this.#proofs, clock, {
      onChange: (tabId) => void this.#publishStatus(tabId),
      pollNow: () => void this.#polling.pollNow(),
      pollLater: () => this.#polling.pollLater(),
    });
    const files = new LookupFiles(memory, this.#client, clock);
    this.#retractions = new Retractions(area, files, clock);
    this.#reading = new Reading({
      ...{ area, tabs, posts: this.#posts, retractions: this.#retractions, refreshTimer },
      privately: new PrivatePosts(tabs, files, this.#proofs, (tabId) => void this.#publishStatus(tabId)),
    });
    this.#hints = new Hints(area, this.#client, clock, dependencies.wakeForHint);
    this.#polling = new Polling(() => this.#posts.poll(), alarm);
    this.sites = new Sites(area, scripts);
  }

  /** Continue where the last worker stopped. */
  static async start(dependencies: Dependencies): Promise<Worker> {
    const worker = new Worker(
      dependencies,
      await Tabs.load(dependencies.area),
      await Runs.load(dependencies.area, dependencies.clock),
    );
    void worker.poll();
    void worker.sendHint();
    return worker;
  }

  /** Ask about what runs. */
  async poll(): Promise<void> {
    return this.#polling.pollNow();
  }

  /** Send a hint that is due. */
  async sendHint(): Promise<void> {
    return this.#hints.send();
  }

  /** Look again for what is open. */
  async refresh(): Promise<void> {
    return this.#reading.refresh();
  }

  /** The extension is new here or another version than before; whether its reader has to be asked how posts are looked up. */
  async onInstalled(isNew: boolean): Promise<boolean> {
    const { area } = this.#dependencies;
    const { mode, apiKey, autoInvestigate } = await readSettings(area);
    if (mode !== '') return false;
    await writeSettings(area, { mode: isNew ? 'ask' : 'full' });
    return isNew || (apiKey === '' && !autoInvestigate);
  }

  /** Answer one message; whatever happens, there is an answer. */
  async receive(message: unknown, sender: Sender): Promise<MessageReply> {
    try {
      return sender.kind === 'content'
        ? await this.#handleContentMessage(readMessage(readFromContent, message), sender)
        : await this.#handlePageMessage(readMessage(readFromPage, message));
    } catch (error) {
      if (error instanceof OtherVersion) {
        return { ok: false, error: error.message, errorCode: 'UNSUPPORTED_PROTOCOL_VERSION', retryAfterMs: null };
      }
      if (error instanceof Malformed) {
        if (sender.kind === 'content') await this.#reportUnreadable(message, sender.tabId);
        return { ok: false, error: error.message, errorCode: 'INVALID_EXTENSION_MESSAGE', retryAfterMs: null };
      }
      console.error(error);
      return { ok: false, error: 'internal', retryAfterMs: backoffMs(5) };
    }
  }

  /** Record where claims were found on a tab's page. */
  async recordOutcomes(tabId: number, outcomes: Readonly<Record<string, AnchorOutcome>>): Promise<void> {
    return this.#posts.recordOutcomes(tabId, outcomes);
  }

  /** A tab loads something; null is an address that the extension may not see. Within a site its content script reports. */
  async onTabLoading(tabId: number, url: string | null): Promise<void> {
    const status = this.#tabs.get(tabId);
    if (status === null) return;
    if (url === null || new URL(url).origin !== new URL(status.pageUrl).origin) await this.#posts.discard(tabId);
  }

  async onTabClosed(tabId: number): Promise<void> {
    return this.#posts.discard(tabId);
  }

  /** The browser or the extension restarted: stored tab states are void. */
  async onRestart(): Promise<void> {
    await this.#tabs.clear();
    await this.sites.align();
  }

  /** React to granted permissions, or to revoked ones. */
  async onPermissionsChanged(areRevoked = false): Promise<void> {
    // Pages that are open keep their scripts.
    await this.#sendSettings();
    if (areRevoked) await this.#hints.forget();
    await this.sites.align();
    for (const [tabId, { state }] of this.#tabs.all()) {
      if (state.kind === 'unanswered' && state.problem.kind === 'no_permission') this.#resync(tabId);
    }
  }

  /** React to changed settings. */
  async onSettingsChanged(keys: readonly string[]): Promise<void> {
    if (SERVER_KEYS.some((key) => keys.includes(key))) {
      if (keys.includes('apiBaseUrl')) await Promise.all([this.#runs.clear(), this.#proofs.forget()]);
      await this.#badges.update();
      for (const [tabId] of this.#tabs.all()) {
        // A page that does not answer must not be asked about under the new settings.
        await this.#posts.discard(tabId);
        this.#resync(tabId);
      }
    }
    if ([...SERVER_KEYS, 'sendHints'].some((key) => keys.includes(key))) await this.#hints.forget();
    if (keys.includes(NOTICES_KEY)) await this.#badges.update();
    if (keys.includes('verdictSites')) await this.sites.align();
    if ([...PAGE_KEYS, 'sitesAdded'].some((key) => keys.includes(key))) await this.#sendSettings();
  }

  /** A keyboard command. */
  async runCommand(name: string): Promise<void> {
    const tabId = await this.#dependencies.pages.activeTab();
    if (name === 'toggle-highlights') {
      const { showHighlights } = await readSettings(this.#dependencies.area);
      await writeSettings(this.#dependencies.area, { showHighlights: !showHighlights });
    } else if (tabId !== null && (name === 'next-finding' || name === 'previous-finding')) {
      const to = name === 'next-finding' ? ('next' as const) : ('previous' as const);
      this.#send(tabId, write('STEP', { to }));
    } else if (tabId !== null && name === 'check-post') this.#send(tabId, write('CHECK_POST', {}));
  }

  async #handleContentMessage(
    message: FromContent,
    { tabId, url, leavesNoTrace }: Extract<Sender, { kind: 'content' }>,
  ): Promise<MessageReply> {
    const settings = await readSettings(this.#dependencies.area);
    switch (message.type) {
      case 'HELLO': {
        await this.#posts.discard(tabId);
        const about: PageSettings = pageSettings(settings, url);
        return { ok: true, ...about };
      }
      case 'PAGE_CONTENT': {
        const { tabSessionId, content, attempt } = message.payload;
        if (!isActive(settings, url)) return { ok: false, error: 'switched off here', retryAfterMs: null };
        const isView = this.#tabs.get(tabId)?.tabSessionId !== tabSessionId;
        const trouble = await this.#reading.show(tabId, tabSessionId, content);
        if (isView && leavesNoTrace !== true && this.#tabs.get(tabId)?.lookup != null)
          void this.#hints.see(content.platform, content.externalId);
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

  async #handlePageMessage(message: FromPage): Promise<MessageReply> {
    switch (message.type) {
      case 'GET_CACHED': {
        const upgrade = await this.#client.upgrade();
        const cached: CachedStatus = {
          status: this.#tabs.get(message.payload.tabId),
          upgrade: upgrade && { minimumVersion: upgrade.minimumVersion },
        };
        return { ok: true, ...cached };
      }
      case 'INVESTIGATE_NOW':
        if (!(await this.#reading.investigate(message.payload.tabId))) this.#resync(message.payload.tabId);
        return { ok: true };
      case 'RETRY':
        if (this.#tabs.get(message.payload.tabId) !== null) this.#resync(message.payload.tabId);
        else await this.#dependencies.scripts.injectInto(message.payload.tabId);
        return { ok: true };
      case 'SET_HIGHLIGHTS':
        await writeSettings(this.#dependencies.area, { showHighlights: message.payload.shown });
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
      case 'SET_CHECKS':
        await this.sites.setChecks(message.payload.site, message.payload.on);
        return { ok: true };
    }
  }

  /** A page's content that cannot be read is not sent; the tab shows an error where the post can be identified. */
  async #reportUnreadable(message: unknown, tabId: number): Promise<void> {
    try {
      const { tabSessionId, content } = identity(message, 'message').payload;
      await this.#posts.markUnreadable(tabId, tabSessionId, content.platform, content.externalId, content.url);
    } catch (error) {
      if (!(error instanceof Malformed)) throw error;
    }
  }

  /** Send a tab's newest status to its page and badge. */
  async #publishStatus(tabId: number): Promise<void> {
    const { baseUrl } = await this.#client.address();
    await this.#badges.set(tabId);
    const status = this.#tabs.get(tabId);
    if (status === null) return;
    const shown = displayedClaims(status.state);
    this.#send(tabId, write('STATE', { status, publicUrl: publicUrl(shown?.investigationId ?? null, baseUrl) }));
    const seen = shown?.claims.map(({ id }) => id) ?? [];
    if (seen.length > 0 && !(await this.#dependencies.pages.leavesNoTrace(tabId))) await this.#retractions.see(seen);
  }

  async #sendSettings(): Promise<void> {
    const settings = await readSettings(this.#dependencies.area);
    for (const { id, url } of await this.#dependencies.pages.openTabs()) {
      this.#send(id, write('PAGE_SETTINGS', pageSettings(settings, url)));
    }
  }

  #resync(tabId: number): void {
    this.#send(tabId, write('RESYNC', {}));
  }

  #send(tabId: number, message: ToContent): void {
    this.#dependencies.pages.send(tabId, message);
  }
}
