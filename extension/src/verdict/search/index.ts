/** The search engine that the reader has chosen. */
import type { EngineName } from '../check';
import type { Fetch } from '../chat';
import type { Clock, SearchEngine } from '../ports';
import { brave } from './brave';
import { duckduckgo } from './duckduckgo';
import { type EngineRules, searchEngine } from './engine';
import { tavily } from './tavily';

const ENGINES: Readonly<Record<Exclude<EngineName, 'none'>, EngineRules>> = { duckduckgo, brave, tavily };

/** Without an engine no search is offered to the model, so none is ever asked for. */
const none: SearchEngine = { search: () => Promise.resolve({ ok: false, error: 'no search is chosen' }) };

export function chosenEngine(name: EngineName, key: string, fetch: Fetch, clock: Clock): SearchEngine {
  return name === 'none' ? none : searchEngine(ENGINES[name], key, fetch, clock);
}
