/**
 * The checks that run: at most one a tab and three in all. Each lives as long as a port to its page is open.
 *
 * Nothing of a check is stored; a page that asks a second time for the same words gets what the first was sent.
 */
import { type CheckMessage, readCheckRequest } from '../protocol/check';
import { type Failure, isEnded, type Out } from '../verdict/check';
import type { FromJob, Job } from '../verdict/job';
import { type CheckDependencies, prepareCheck, rememberNoFormat } from './check_setup';

/** A connection from a page's content script. */
export interface CheckPort {
  postMessage(message: CheckMessage): void;
  disconnect(): void;
}

/** Starts a job. `onLost` is called when the job can send nothing more; calling the result cancels the job. */
export type StartJob = (job: Job, onMessage: (message: FromJob) => void, onLost: () => void) => () => void;

export interface ChecksDependencies extends CheckDependencies {
  readonly startJob: StartJob;
  /** Keep the browser from ending the background, and call again and again; the result ends both. */
  stayAwake(ms: number, call: () => void): () => void;
}

interface Check {
  readonly tabId: number;
  readonly permalink: string;
  readonly words: string;
  readonly ports: Set<CheckPort>;
  readonly sent: Out[];
  cancel: () => void;
}

const MOST_CHECKS = 3;
/** Less than the 30 seconds after which a browser ends a background that does nothing. */
const ALIVE_MS = 20_000;

export class Checks {
  readonly #dependencies: ChecksDependencies;
  readonly #running = new Set<Check>();
  #mayRest: () => void = () => undefined;

  constructor(dependencies: ChecksDependencies) {
    this.#dependencies = dependencies;
  }

  /** Start or join what a page asks for. Raises: Malformed. */
  async receive(message: unknown, port: CheckPort, tabId: number, url: string): Promise<void> {
    const { words, permalink } = readCheckRequest(message, 'message');
    const running = [...this.#running].find((check) => check.tabId === tabId);
    if (running?.permalink === permalink && running.words === words) {
      running.ports.add(port);
      for (const out of running.sent) port.postMessage(out);
      return;
    }
    if (running !== undefined) this.#end(running, { at: 'cancelled' });
    if (this.#running.size >= MOST_CHECKS) {
      refuse(port, { code: 'too_many_checks' });
      return;
    }
    const check: Check = { tabId, permalink, words, ports: new Set([port]), sent: [], cancel: () => undefined };
    this.#add(check);
    await this.#start(check, words, url);
  }

  /** A page closed its port. */
  onDisconnect(port: CheckPort): void {
    for (const check of this.#running) {
      if (check.ports.delete(port) && check.ports.size === 0) this.#end(check, { at: 'cancelled' });
    }
  }

  async #start(check: Check, words: string, url: string): Promise<void> {
    const prepared = await prepareCheck(words, url, this.#dependencies).catch((error: unknown) => {
      this.#end(check, { at: 'failed', failure: { code: 'interrupted' } });
      throw error;
    });
    if (!this.#running.has(check)) return;
    if ('code' in prepared) {
      this.#end(check, { at: 'failed', failure: prepared });
      return;
    }
    const onMessage = (message: FromJob): void => {
      if (!this.#running.has(check)) return;
      if (message.at === 'no_format') void rememberNoFormat(prepared, this.#dependencies.session);
      else if (isEnded(message)) this.#end(check, message);
      else this.#send(check, message);
    };
    const onLost = (): void => this.#end(check, { at: 'failed', failure: { code: 'interrupted' } });
    check.cancel = this.#dependencies.startJob(prepared, onMessage, onLost);
  }

  #send(check: Check, out: Out): void {
    check.sent.push(out);
    for (const port of check.ports) port.postMessage(out);
  }

  #add(check: Check): void {
    this.#running.add(check);
    if (this.#running.size > 1) return;
    this.#mayRest = this.#dependencies.stayAwake(ALIVE_MS, () => {
      for (const { ports } of this.#running) for (const port of ports) port.postMessage({ at: 'alive' });
    });
  }

  #end(check: Check, out: Out): void {
    if (!this.#running.delete(check)) return;
    if (this.#running.size === 0) this.#mayRest();
    check.cancel();
    this.#send(check, out);
    for (const port of check.ports) port.disconnect();
  }
}

function refuse(port: CheckPort, failure: Failure): void {
  port.postMessage({ at: 'failed', failure });
  port.disconnect();
}
