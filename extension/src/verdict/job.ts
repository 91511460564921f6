/** A check with all that it needs, as one value: it may be run in another document than the one that prepared it. */
import type { Server } from './chat';
import type { Out } from './check';
import { clock, engineOf, modelAt } from './document_ports';
import type { Setup } from './loop';
import { runCheck } from './runner';

export interface Job {
  readonly setup: Setup;
  readonly server: Server;
  readonly searchKey: string;
}

/** What a running job sends: what the reader sees, and what later checks should know. */
export type FromJob = Out | { readonly at: 'no_format' };

/** Run it here. Resolves after the last message. */
export async function runJob(job: Job, send: (message: FromJob) => void, cancel: AbortSignal): Promise<void> {
  const { setup, server, searchKey } = job;
  const ports = { model: modelAt(server), engine: engineOf(setup.engine, searchKey), clock };
  await runCheck(setup, { ...ports, send, rememberNoFormat: () => send({ at: 'no_format' }) }, cancel);
}
