/** What a check needs, over the network and the timers of the document that it runs in. */
import { chatModel, type Fetch, type Server } from './chat';
import type { EngineName } from './check';
import type { Clock, Model, SearchEngine } from './ports';
import { chosenEngine } from './search';

const send: Fetch = (url, init) => fetch(url, init);

export const clock: Clock = {
  after(ms, call) {
    const timer = setTimeout(call, ms);
    return () => clearTimeout(timer);
  },
};

export function modelAt(server: Server): Model {
  return chatModel(server, send, clock);
}

export function engineOf(name: EngineName, key: string): SearchEngine {
  return chosenEngine(name, key, send, clock);
}
