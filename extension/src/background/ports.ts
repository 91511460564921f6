/**
 * What the background needs of the browser. src/background/browser.ts implements it; tests have fakes.
 */
import type { ToContent } from '../protocol/messages';
import type { Badge } from './badge';

export interface Area {
  /** Null means everything. */
  get(keys: string[] | null): Promise<Record<string, unknown>>;
  set(items: Record<string, unknown>): Promise<void>;
  remove(keys: string | string[]): Promise<void>;
}

export interface Clock {
  /** Units: milliseconds since 1970. */
  now(): number;
}

/** Wakes the worker periodically, also after it was ended. */
export interface Alarm {
  start(): void;
  stop(): void;
}

/** Wakes the worker once, also after it was ended. */
export interface Timer {
  /** Unless it is set already. Units: minutes from now. */
  ensure(minutes: number): void;
}

export interface OpenTab {
  readonly id: number;
  /** Of a page that the extension may not see it is `about:blank`. */
  readonly url: string;
}

export interface Pages {
  /** Send a message to a tab's content script, which may not exist. */
  send(tabId: number, message: ToContent): void;
  openTabs(): Promise<readonly OpenTab[]>;
  /** The tab that the reader looks at. */
  activeTab(): Promise<number | null>;
  /** Whether a tab is of a window that is to leave no trace. */
  leavesNoTrace(tabId: number): Promise<boolean>;
  /** Set the badge of one tab; null sets the default of all tabs. */
  setBadge(tabId: number | null, badge: Badge): void;
}

/** The content script on a publication's own domain. */
export interface Scripts {
  hasPermission(pattern: string): Promise<boolean>;
  registeredHosts(): Promise<readonly string[]>;
  /** From now on, and in the tabs that are open. */
  register(host: string, pattern: string): Promise<void>;
  unregister(host: string): Promise<void>;
  /** Start the script in a tab, also where one already runs. */
  injectInto(tabId: number): Promise<void>;
  revokePermission(pattern: string): Promise<void>;
}
