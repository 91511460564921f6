/**
 * One post at a time: what the page shows becomes one session, and a different post or version becomes the next.
 *
 * The session says to the worker what is here; it never asks a server. It keeps no word of the page longer than the session
 * lasts. Everything that waits (a retry) belongs to one session and dies with it, so no answer can reach the wrong post.
 * Source: CONTRACT 7.3.
 */
import type { Adapter, Exclusion, Extraction } from '../platforms/base';
import { decide, retryAfterMs, sessionKey, type Decision } from './decide';
import type { Background, Reply } from './ports';

/** Where the words of the current post are. */
export interface Place {
  readonly root: Element;
  readonly excluded: Exclusion;
}

export interface PageSource {
  url(): URL;
  adapter(url: URL): Adapter | null;
  read(adapter: Adapter, url: URL): Extraction;
}

interface Current {
  readonly id: string;
  readonly key: string;
  /** The address without its fragment. */
  readonly page: string;
  readonly final: boolean;
  send(attempt: number): Promise<Reply>;
  place: Place | null;
}

export class PageSession {
  readonly #source: PageSource;
  readonly #background: Background;
  readonly #moved: () => void;
  readonly #script: string = crypto.randomUUID();
  #last = 0;
  #current: Current | null = null;
  #retry: ReturnType<typeof setTimeout> | undefined;

  /** `moved` is called whenever the post's words are somewhere else than before; `place` tells where. */
  constructor(source: PageSource, background: Background, moved: () => void) {
    this.#source = source;
    this.#background = background;
    this.#moved = moved;
  }

  get id(): string | null {
    return this.#current?.id ?? null;
  }

  get place(): Place | null {
    return this.#current?.place ?? null;
  }

  /** Look at the page again. */
  refresh(): void {
    const url = this.#source.url();
    const page = url.href.slice(0, url.href.length - url.hash.length);
    if (this.#current?.page === page && this.#current.final) return;
    const adapter = this.#source.adapter(url);
    let read: Extraction | null = null;
    const decision = decide(adapter, () => (read = this.#source.read(adapter!, url)));
    switch (decision.kind) {
      case 'nothing':
        this.end();
        return;
      case 'wait':
        // A post that is being rendered anew is still the same post.
        if (this.#current?.page !== page) this.end();
        return;
      case 'skip':
      case 'send':
        this.#take(decision, page, url, read);
    }
  }

  /** The post is gone, or the reader wants nothing of us here. */
  end(): void {
    clearTimeout(this.#retry);
    const ended = this.#current;
    this.#current = null;
    if (ended === null) return;
    this.#moved();
    void this.#background.reset(ended.id);
  }

  /** Say what is here as if it had just appeared. */
  restart(): void {
    this.end();
    this.refresh();
  }

  #take(decision: Extract<Decision, { kind: 'skip' | 'send' }>, page: string, url: URL, read: Extraction | null): void {
    const key =
      decision.kind === 'send' ? sessionKey(decision.content) : JSON.stringify([decision.reason, decision.post, page]);
    if (this.#current?.key === key && this.#current.page === page) {
      this.#settle(this.#current, read);
      return;
    }
    this.end();
    const id = `${this.#script}/${++this.#last}`;
    const current: Current = {
      id,
      key,
      page,
      final: decision.kind === 'skip' && decision.final,
      place: null,
      send: (attempt) =>
        decision.kind === 'send'
          ? this.#background.content(id, decision.content, attempt)
          : this.#background.skipped(id, decision.post, url.href, decision.reason),
    };
    this.#current = current;
    if (decision.kind === 'send') this.#settle(current, read);
    void this.#tell(current, 0);
  }

  #settle(current: Current, read: Extraction | null): void {
    if (read?.kind !== 'ready') return;
    const moved = current.place?.root !== read.root;
    current.place = { root: read.root, excluded: read.excluded };
    if (moved) this.#moved();
  }

  async #tell(current: Current, attempt: number): Promise<void> {
    const reply = await current.send(attempt).catch((): Reply => ({ ok: false, retryAfterMs: retryAfterMs(attempt) }));
    if (this.#current !== current || reply.ok || reply.retryAfterMs === null) return;
    this.#retry = setTimeout(() => void this.#tell(current, attempt + 1), reply.retryAfterMs);
  }
}
