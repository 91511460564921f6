/**
 * What the background needs of the browser, in its own words. src/background/browser.ts gives it; tests give their own.
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

/** Runs something again, also in a worker that has not begun yet. */
export interface Alarm {
  start(): void;
  stop(): void;
}

export interface OpenTab {
  readonly id: number;
  /** Only of pages that the extension may see. */
  readonly url: string;
}

export interface Pages {
  /** Say something to a tab's content script; whether anybody is there is not known. */
  tell(tabId: number, message: ToContent): void;
  open(): Promise<readonly OpenTab[]>;
  /** The tab that the reader looks at. */
  active(): Promise<number | null>;
  /** Paint the button of one tab; null is every tab that has none of its own. */
  paint(tabId: number | null, badge: Badge): void;
}

/** The content script on a publication's own domain. */
export interface Scripts {
  mayRead(pattern: string): Promise<boolean>;
  registered(): Promise<readonly string[]>;
  /** From now on, and in the tabs that are open. */
  register(host: string, pattern: string): Promise<void>;
  unregister(host: string): Promise<void>;
  /** In a tab that has none, or anew. */
  start(tabId: number): Promise<void>;
  giveBack(pattern: string): Promise<void>;
}
