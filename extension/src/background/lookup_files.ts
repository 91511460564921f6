/**
 * The files of private look-ups, read once a minute at most and kept in the browser's memory, where they end with it.
 *
 * What is kept outlives the worker, so that a page that is opened later asks only whether a bucket has changed.
 */
import {
  type Bucket,
  type Layout,
  prefixOf,
  readBucket,
  readLayout,
  readRetractions,
  type Retractions,
  unframe,
} from '../lookup/files';
import { Malformed, type Read } from '../protocol/read';
import type { Area, Clock } from './ports';
import type { Result } from './server';
import type { ServerClient } from './server_client';

/** How long the server allows a copy to be used without asking again. */
const FRESH_MS = 60_000;
/** Of the browser's 10 MB of memory for an extension, at 0.2 MB for a large bucket. */
const MOST_FILES = 24;
const NAMES = 'lookups';
const PREFIX = 'lookup:';

interface Copy {
  /** Units: milliseconds since 1970. */
  readonly at: number;
  readonly etag: string | null;
  readonly document: unknown;
}

export class LookupFiles {
  readonly #memory: Area;
  readonly #client: ServerClient;
  readonly #clock: Clock;
  readonly #running = new Map<string, Promise<Result<unknown>>>();

  constructor(memory: Area, client: ServerClient, clock: Clock) {
    this.#memory = memory;
    this.#client = client;
    this.#clock = clock;
  }

  /** The bucket that a key is in. */
  async bucketOf(key: string): Promise<Result<Bucket>> {
    for (const attempt of [0, 1]) {
      const layout = await this.#read('layout.json', readLayout, attempt > 0);
      if (!layout.ok) return layout;
      if (layout.value === null) return { ok: false, problem: { kind: 'no_lookups' } };
      if (layout.value.paused) return { ok: false, problem: { kind: 'paused' } };
      const bucket = await this.#read(pathOf(layout.value, key), readBucket);
      if (!bucket.ok) return bucket;
      // A missing bucket means that the layout is an old one.
      if (bucket.value !== null) return { ok: true, value: bucket.value };
    }
    return { ok: false, problem: { kind: 'bad_answer' } };
  }

  /** What was taken back or released on a day; null where the server has no such file. */
  async retractions(day: string): Promise<Result<Retractions | null>> {
    return this.#read(`retractions/${day}`, readRetractions);
  }

  /** Read a file, or what is known of it; null is one that does not exist. */
  async #read<T>(path: string, read: Read<T>, anew = false): Promise<Result<T | null>> {
    const name = `${PREFIX}${(await this.#client.address()).baseUrl}/${path}`;
    const running = this.#running.get(name) ?? this.#fetch(name, path, read, anew);
    this.#running.set(name, running);
    try {
      return (await running) as Result<T | null>;
    } finally {
      this.#running.delete(name);
    }
  }

  async #fetch(name: string, path: string, read: Read<unknown>, anew: boolean): Promise<Result<unknown>> {
    const copy = (await this.#memory.get([name]))[name] as Copy | undefined;
    if (!anew && copy !== undefined && Math.abs(this.#clock.now() - copy.at) < FRESH_MS)
      return { ok: true, value: copy.document };
    const reply = await this.#client.readLookup(path, copy?.etag ?? null);
    if (!reply.ok) return reply;
    const { status, etag, body } = reply.value;
    if (status === 304 && copy !== undefined) {
      await this.#keep(name, { ...copy, at: this.#clock.now() });
      return { ok: true, value: copy.document };
    }
    if (status === 404) return { ok: true, value: null };
    if (status !== 200) return { ok: false, problem: { kind: 'server_down' } };
    try {
      const document = read(path.endsWith('.json') ? parse(body) : await unframe(body), path);
      await this.#keep(name, { at: this.#clock.now(), etag, document });
      return { ok: true, value: document };
    } catch (error) {
      if (error instanceof Malformed || error instanceof SyntaxError)
        return { ok: false, problem: { kind: 'bad_answer' } };
      throw error;
    }
  }

  /** Keep a copy, and of all copies the newest. If the browser has no room for it, the file is read again. */
  async #keep(name: string, copy: Copy): Promise<void> {
    const known = ((await this.#memory.get([NAMES]))[NAMES] ?? []) as readonly string[];
    const names = [...known.filter((one) => one !== name), name];
    await this.#memory.remove(names.slice(0, -MOST_FILES));
    await this.#memory.set({ [NAMES]: names.slice(-MOST_FILES), [name]: copy }).catch(() => undefined);
  }
}

function pathOf({ layout, bits }: Layout, key: string): string {
  return `${layout}/${prefixOf(key, bits)}`;
}

function parse(body: Uint8Array): unknown {
  return JSON.parse(new TextDecoder().decode(body));
}
