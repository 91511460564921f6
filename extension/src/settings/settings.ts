/**
 * What a reader has decided, as it lies in the browser's local storage.
 *
 * Keys never leave this browser except in the headers that src/background/server.ts sends. Reading is forgiving: a
 * value of a wrong kind counts as not set, because settings that cannot be read must not lock a reader out of
 * changing them. Source: docs/protocol.md 5.1.
 */
import { LIMITS } from '../verdict/given';

export interface Settings {
  /** How posts are looked up: `readingMode` reads it. `ask`: a new installation, whose reader has not said yet. */
  readonly mode: string;
  /** Whether a private reader helps to choose what is checked: src/background/hints.ts. */
  readonly sendHints: boolean;
  /** As entered; empty means the default server. */
  readonly apiBaseUrl: string;
  readonly apiKey: string;
  readonly openaiApiKey: string;
  readonly autoInvestigate: boolean;
  /** Empty means the built-in one. */
  readonly hmacSecret: string;
  readonly showHighlights: boolean;
  /** Names as src/settings/sites.ts gives them. */
  readonly sitesOff: readonly string[];
  /** Hosts of publications with a domain of their own. */
  readonly sitesAdded: readonly string[];
  /** Hosts where posts can be checked by the reader's own model. src/settings/checks.ts reads what follows. */
  readonly verdictSites: readonly string[];
  /** `lmstudio`, `openrouter` or `other`; empty means that no model is chosen. */
  readonly verdictRoute: string;
  /** As entered; empty means the route's own. */
  readonly verdictBaseUrl: string;
  readonly verdictModel: string;
  readonly verdictKey: string;
  readonly verdictMaxTokens: number;
  /** `none`, `duckduckgo`, `brave` or `tavily`. */
  readonly searchProvider: string;
  readonly searchKey: string;
  /** Empty means the shipped one. */
  readonly verdictPrompt: string;
  /** What the reader has agreed to, as `consentTo` writes it; empty means nothing. */
  readonly verdictConsent: string;
}

export const DEFAULTS: Settings = {
  mode: '',
  sendHints: false,
  apiBaseUrl: '',
  apiKey: '',
  openaiApiKey: '',
  autoInvestigate: false,
  hmacSecret: '',
  showHighlights: true,
  sitesOff: [],
  sitesAdded: [],
  verdictSites: [],
  verdictRoute: '',
  verdictBaseUrl: '',
  verdictModel: '',
  verdictKey: '',
  verdictMaxTokens: LIMITS.maxTokens,
  searchProvider: 'none',
  searchKey: '',
  verdictPrompt: '',
  verdictConsent: '',
};

/** What changes the answers of the server, or which server it is. */
export const SERVER_KEYS: readonly (keyof Settings)[] = ['mode', 'apiBaseUrl', 'apiKey', 'hmacSecret'];
/** Settings that content scripts depend on. */
export const PAGE_KEYS: readonly (keyof Settings)[] = ['mode', 'showHighlights', 'sitesOff', 'verdictSites'];

interface Area {
  get(keys: string[]): Promise<Record<string, unknown>>;
  set(items: Record<string, unknown>): Promise<void>;
}

/** Read all settings. */
export async function readSettings(area: Area): Promise<Settings> {
  return asSettings(await area.get(Object.keys(DEFAULTS)));
}

/** Change some settings. */
export async function writeSettings(area: Area, changes: Partial<Settings>): Promise<void> {
  await area.set({ ...changes });
}

/** Make settings of any stored value, leaving out what is not a setting. */
export function asSettings(stored: Readonly<Record<string, unknown>>): Settings {
  const settings: Record<string, unknown> = {};
  for (const [key, fallback] of Object.entries(DEFAULTS)) {
    const value = Object.hasOwn(stored, key) ? stored[key] : undefined;
    if (Array.isArray(fallback)) settings[key] = readStrings(value);
    else settings[key] = typeof value !== typeof fallback ? fallback : typeof value === 'string' ? value.trim() : value;
  }
  return settings as unknown as Settings;
}

function readStrings(value: unknown): string[] {
  if (!Array.isArray(value)) return [];
  return [...new Set(value.filter((item): item is string => typeof item === 'string' && item !== ''))];
}

/** `private`: the server is asked for buckets of many posts. `full`: it gets each post. Null: nothing is sent. */
export function readingMode({ mode }: Pick<Settings, 'mode'>): 'private' | 'full' | null {
  return mode === 'private' || mode === 'full' ? mode : null;
}

/** Whether a key or secret can travel in a header. */
export function isSendable(key: string): boolean {
  return /^[\x21-\x7e]*$/.test(key.trim());
}

/** Whether a key has the form of OpenAI's. */
export function looksLikeOpenAiKey(key: string): boolean {
  return /^sk-[A-Za-z0-9_-]{20,}$/.test(key.trim());
}
