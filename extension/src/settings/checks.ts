/** Which model and which search a reader has chosen for checks of posts, read from the settings. */
import type { EngineName } from '../verdict/check';
import { LIMITS } from '../verdict/given';
import { type Address, readAddress } from './address';
import { isSendable, type Settings } from './settings';

export type Route = 'lmstudio' | 'openrouter' | 'other';

export interface ChosenModel {
  readonly route: Route;
  readonly address: Address;
  readonly name: string;
  /** Empty means none. */
  readonly key: string;
  readonly maxTokens: number;
}

export type ChosenEngine =
  | { readonly name: 'none' }
  | { readonly name: Exclude<EngineName, 'none'>; readonly address: Address; readonly key: string };

export interface Choice {
  readonly model: ChosenModel;
  readonly engine: ChosenEngine;
  /** Empty means the shipped one. */
  readonly prompt: string;
}

/** Changes with the text of the disclosure, which is then shown again. */
export const DISCLOSURE_VERSION = 1;

const ROUTES: readonly string[] = ['lmstudio', 'openrouter', 'other'] satisfies readonly Route[];
const ENGINES: readonly string[] = Object.keys(LIMITS.engines);

/** The choice; null if the model has no address or name that can be used, or a needed key is missing. */
export function readChoice(settings: Settings): Choice | null {
  const model = chosenModel(settings);
  const engine = chosenEngine(settings);
  return model === null || engine === null ? null : { model, engine, prompt: settings.verdictPrompt };
}

/** Where requests to models go; null where the reader chose none. */
export function modelAddress({ verdictRoute, verdictBaseUrl }: Settings): Address | null {
  if (!ROUTES.includes(verdictRoute)) return null;
  const fixed = verdictRoute === 'other' ? '' : LIMITS.routes[verdictRoute as Exclude<Route, 'other'>];
  const entered = verdictRoute === 'openrouter' ? fixed : verdictBaseUrl || fixed;
  if (entered === '') return null;
  const read = readAddress(entered);
  return read.ok ? read.address : null;
}

/** Where searches go; null where the reader chose none. */
export function engineAddress({ searchProvider }: Settings): Address | null {
  if (!ENGINES.includes(searchProvider)) return null;
  const read = readAddress(LIMITS.engines[searchProvider as keyof typeof LIMITS.engines]);
  return read.ok ? read.address : null;
}

/** Whether the reader has switched checks on for a page's site. */
export function isCheckedSite(url: string, { verdictSites }: Settings): boolean {
  const host = new URL(url).hostname.replace(/^www\./, '').replace(/^threads\.net$/, 'threads.com');
  return verdictSites.includes(host);
}

/** What a reader agrees to: this version of the disclosure, with these hosts. It is kept as `verdictConsent`. */
export function consentTo({ model, engine }: Choice): string {
  return [DISCLOSURE_VERSION, model.address.host, engine.name === 'none' ? 'none' : engine.address.host].join(' ');
}

function chosenModel(settings: Settings): ChosenModel | null {
  const { verdictRoute, verdictModel: name, verdictKey: key, verdictMaxTokens } = settings;
  const address = modelAddress(settings);
  if (address === null || name === '' || !isSendable(key)) return null;
  if (verdictRoute === 'openrouter' && key === '') return null;
  const maxTokens = Math.min(32_768, Math.max(256, Math.trunc(verdictMaxTokens) || LIMITS.maxTokens));
  return { route: verdictRoute as Route, address, name, key, maxTokens };
}

function chosenEngine(settings: Settings): ChosenEngine | null {
  const { searchProvider, searchKey: key } = settings;
  const address = engineAddress(settings);
  if (address === null) return { name: 'none' };
  if (searchProvider !== 'duckduckgo' && (key === '' || !isSendable(key))) return null;
  return { name: searchProvider as Exclude<EngineName, 'none'>, address, key };
}
