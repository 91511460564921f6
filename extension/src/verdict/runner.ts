/** Runs a check: does what src/verdict/loop.ts decides, one thing at a time, until it has ended. */
import type { Out } from './check';
import { LIMITS } from './given';
import { type Effect, type Event, next, type Setup, type State } from './loop';
import type { Clock, Model, SearchEngine } from './ports';

export interface Ports {
  readonly model: Model;
  readonly engine: SearchEngine;
  readonly clock: Clock;
  send(out: Out): void;
  /** This server refuses a format: later checks need not try. */
  rememberNoFormat(): void;
}

/** Resolves when the last message was sent. Aborting `cancel` cancels; whatever the end, no request is left behind. */
export async function runCheck(setup: Setup, ports: Ports, cancel: AbortSignal): Promise<void> {
  const requests = new AbortController();
  const interrupted = interruption(ports.clock, cancel);
  try {
    let state: State = { at: 'idle', setup };
    let event: Event = { kind: 'start' };
    for (;;) {
      const step = next(state, event);
      state = step.state;
      const work = step.effects.map((effect) => perform(effect, ports, requests.signal)).find((each) => each !== null);
      if (work === undefined) return;
      event = await Promise.race([interrupted.event, work]);
    }
  } finally {
    requests.abort();
    interrupted.stop();
  }
}

/** Null for what is done at once. */
function perform(effect: Effect, ports: Ports, signal: AbortSignal): Promise<Event> | null {
  switch (effect.kind) {
    case 'send':
      ports.send(effect.out);
      return null;
    case 'remember_no_format':
      ports.rememberNoFormat();
      return null;
    case 'ask':
      return ports.model.ask(effect.body, signal).then((answer) => ({ kind: 'answered', answer }));
    case 'search':
      return ports.engine.search(effect.query, signal).then((answer) => ({ kind: 'searched', answer }));
  }
}

function interruption(clock: Clock, cancel: AbortSignal): { event: Promise<Event>; stop: () => void } {
  let stop = (): void => undefined;
  const event = new Promise<Event>((resolve) => {
    const cancelled = (): void => resolve({ kind: 'cancelled' });
    const takeBack = clock.after(LIMITS.checkS * 1_000, () => resolve({ kind: 'timed_out' }));
    cancel.addEventListener('abort', cancelled);
    if (cancel.aborted) cancelled();
    stop = () => {
      takeBack();
      cancel.removeEventListener('abort', cancelled);
    };
  });
  return { event, stop };
}
