/**
 * One post at a time: what the page shows becomes one session, and a different post or version becomes the next.
 *
 * The session says to the worker what is here; it never asks a server. It keeps no word of the page longer than until the
 * next session has begun. Everything that waits (a retry) belongs to one session and dies with it, so no answer can reach
 * the wrong post. Source: CONTRACT 7.3.
 *
 * What nobody has touched since it was read is not read again. A page that goes on making versions of one address, as a
 * clock does, is looked at ever more rarely; its underlines stay with its words all the same.
 */
import { complete, type Extraction, type PageContent, type Site } from '../platforms/base';
import type { Steps } from '../platforms/steps';
import { calmMs, decide, isLeftOver, retryAfterMs, sameVersion, type Decision } from './decide';
import type { Background, Reply } from './ports';
import { PageReading, type Place } from './reading';
import type { Breath } from './slices';

export type { Place } from './reading';

export interface PageSource {
  url(): URL;
  site(url: URL): Site | null;
  read(site: Site, url: URL): Steps<Extraction>;
}

type Taken = Extract<Decision, { kind: 'skip' | 'send' }>;

interface Current {
  readonly id: string;
  readonly taken: Taken;
  /** The address without its fragment. */
  readonly page: string;
  place: Place | null;
}

/** One look at the page; `again` if somebody wanted another meanwhile. */
interface Look {
  readonly page: string;
  done: Promise<void>;
  again: boolean;
}

interface Found {
  readonly decision: Decision;
  readonly place: Place | null;
}

export class PageSession {
  readonly #source: PageSource;
  readonly #background: Background;
  readonly #moved: () => void;
  readonly #reading: PageReading;
  readonly #script: string = crypto.randomUUID();
  #last = 0;
  #current: Current | null = null;
  /** What was shown before, for a page that does not say what it shows now. */
  #left: { readonly page: string; readonly content: PageContent } | null = null;
  #look: Look | null = null;
  #page = '';
  #waits = 0;
  #versions = 0;
  #calmTill = 0;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #again: ReturnType<typeof setTimeout> | undefined;

  /** `moved` is called whenever the post's words are somewhere else than before; `place` tells where. */
  constructor(source: PageSource, background: Background, breath: Breath, moved: () => void) {
    this.#source = source;
    this.#background = background;
    this.#reading = new PageReading(breath);
    this.#moved = moved;
  }

  get id(): string | null {
    return this.#current?.id ?? null;
  }

  get place(): Place | null {
    return this.#current?.place ?? null;
  }

  /** Nodes of the page were changed. */
  touch(nodes: readonly Node[]): void {
    this.#reading.touch(nodes);
  }

  /** Look at the page again; resolves when that is done. */
  refresh(): Promise<void> {
    const url = this.#source.url();
    const page = url.href.slice(0, url.href.length - url.hash.length);
    if (this.#look?.page === page) {
      this.#look.again = true;
      return this.#look.done;
    }
    const look: Look = { page, again: false, done: Promise.resolve() };
    this.#look = look;
    look.done = this.#lookAt(look, url).finally(() => {
      if (this.#look !== look) return;
      this.#look = null;
      if (look.again && this.#reading.dirty) this.#later(0);
    });
    return look.done;
  }

  /** The post is gone, or the reader wants nothing of us here. */
  end(): void {
    this.#look = null;
    clearTimeout(this.#again);
    this.#drop();
  }

  /** Say what is here as if it had just appeared. */
  restart(): Promise<void> {
    this.end();
    this.#calmTill = 0;
    return this.refresh();
  }

  async #lookAt(look: Look, url: URL): Promise<void> {
    const { page } = look;
    clearTimeout(this.#again);
    if (this.#page !== page) {
      this.#page = page;
      this.#waits = this.#versions = this.#calmTill = 0;
      this.#drop();
    }
    const current = this.#current;
    const stands = current?.place?.root.isConnected !== false;
    if (current !== null && (isFinal(current.taken) || (stands && !this.#reading.dirty))) return;
    const calm = current === null ? 0 : Math.max(0, this.#calmTill - Date.now());
    if (calm > 0) this.#later(calm);
    if (calm > 0 && stands) return;
    const site = this.#source.site(url);
    if (site === null) {
      this.#drop();
      return;
    }
    const found = await this.#reading.look(
      () => this.#steps(site, url, page, calm > 0),
      () => this.#look !== look,
    );
    if (found === null) return;
    const { decision, place } = found;
    if (decision.kind === 'nothing') this.#drop();
    else if (decision.kind === 'wait') {
      // A post that is being rendered anew is still the same post.
      if (current === null) this.#drop();
      this.#reading.dirty = true;
      this.#later(retryAfterMs(this.#waits++));
    } else if (current !== null && (calm > 0 || isSame(current.taken, decision))) {
      this.#settle(current, place);
      if (calm > 0) this.#reading.dirty = true;
    } else this.#begin(decision, page, url, place);
  }

  *#steps(site: Site, url: URL, page: string, calm: boolean): Steps<Found> {
    const read = yield* this.#source.read(site, url);
    const decision = decide(read);
    if (read.kind !== 'ready' || decision.kind !== 'send') return { decision, place: null };
    const left = this.#left;
    if (!read.isNamed && left !== null && left.page !== page && isLeftOver(read.content, left.content)) {
      return { decision: { kind: 'wait' }, place: null };
    }
    const { root, scope = null, excluded } = read;
    const place = { root, scope, excluded };
    const current = this.#current;
    if (calm || (current !== null && isSame(current.taken, decision))) return { decision, place };
    return { decision: { kind: 'send', content: yield* complete(read) }, place };
  }

  #begin(taken: Taken, page: string, url: URL, place: Place | null): void {
    this.#drop();
    this.#waits = 0;
    if (taken.kind === 'send') this.#calmTill = Date.now() + calmMs(++this.#versions);
    const current: Current = { id: `${this.#script}/${++this.#last}`, taken, page, place: null };
    this.#current = current;
    this.#settle(current, place);
    void this.#tell(current, url.href, 0);
  }

  #drop(): void {
    clearTimeout(this.#retry);
    const ended = this.#current;
    this.#current = null;
    if (ended === null) return;
    if (ended.taken.kind === 'send') this.#left = { page: ended.page, content: ended.taken.content };
    this.#moved();
    void this.#background.reset(ended.id);
  }

  #settle(current: Current, place: Place | null): void {
    if (place === null) return;
    const moved = current.place?.root !== place.root;
    current.place = place;
    if (moved) this.#moved();
  }

  async #tell(current: Current, url: string, attempt: number): Promise<void> {
    const { id, taken } = current;
    const said =
      taken.kind === 'send'
        ? this.#background.content(id, taken.content, attempt)
        : this.#background.skipped(id, taken.post, url, taken.reason);
    const reply = await said.catch((): Reply => ({ ok: false, retryAfterMs: retryAfterMs(attempt) }));
    if (this.#current !== current || reply.ok || reply.retryAfterMs === null) return;
    this.#retry = setTimeout(() => void this.#tell(current, url, attempt + 1), reply.retryAfterMs);
  }

  #later(ms: number): void {
    clearTimeout(this.#again);
    this.#again = setTimeout(() => void this.refresh(), ms);
  }
}

function isFinal(taken: Taken): boolean {
  return taken.kind === 'skip' && taken.final;
}

/** Whether two readings of one address come to the same. */
function isSame(one: Taken, other: Taken): boolean {
  if (one.kind === 'send') return other.kind === 'send' && sameVersion(one.content, other.content);
  return other.kind === 'skip' && one.reason === other.reason && one.post.externalId === other.post.externalId;
}
