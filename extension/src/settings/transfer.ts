/**
 * Settings as a file: what a reader takes to another browser.
 *
 * Keys are left out unless asked for, since a file is easily passed on. Settings that need a
 * permission or an agreement, which only the other browser can give, are always left out.
 */
import { DEFAULTS, type Settings, asSettings } from './settings';

const FORMAT = 'openerrata-settings';
const SECRETS: readonly (keyof Settings)[] = ['apiKey', 'openaiApiKey', 'hmacSecret', 'verdictKey', 'searchKey'];
/** Settings that need a permission or an agreement, which another browser has not given. */
const LOCAL: readonly string[] = ['mode', 'sendHints', 'sitesAdded', 'verdictSites', 'verdictConsent'];

export function exportSettings(settings: Settings, withKeys: boolean): string {
  const kept = Object.entries(settings).filter(
    ([key]) => !LOCAL.includes(key) && (withKeys || !SECRETS.includes(key as keyof Settings)),
  );
  return `${JSON.stringify({ format: FORMAT, version: 1, settings: Object.fromEntries(kept) }, null, 2)}\n`;
}

/** Read an exported file: only the settings it holds; null if it is not such a file. */
export function importSettings(file: string): Partial<Settings> | null {
  let parsed: unknown;
  try {
    parsed = JSON.parse(file);
  } catch {
    return null;
  }
  if (!isObject(parsed) || parsed.format !== FORMAT || parsed.version !== 1 || !isObject(parsed.settings)) {
    return null;
  }
  const said = parsed.settings;
  const read = asSettings(said);
  const known = (Object.keys(DEFAULTS) as (keyof Settings)[]).filter(
    (key) => !LOCAL.includes(key) && Object.hasOwn(said, key),
  );
  return Object.fromEntries(known.map((key) => [key, read[key]]));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
