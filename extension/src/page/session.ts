/**
 * One post at a time: what the page shows becomes one session, and a different post or version becomes the next.
 *
 * The session reports to the worker what is here; it never asks a server. It keeps no text of the page longer than until the
 * next session has begun. Everything that waits (a retry) belongs to one session and dies with it, so no answer can reach
 * the wrong post. Source: docs/protocol.md 5.2.
 *
 * What has not changed since it was read is not read again. A page that keeps making versions of one address, as a
 * clock does, is looked at ever more rarely; its underlines stay with its words all the same.
 */
import { complete, type Extraction, type PageContent, type Site } from '../platforms/base';
import type { Steps } from '../platforms/steps';
import { versionPauseMs, decide, showsPreviousPost, retryAfterMs, sameVersion, type Decision } from './decide';
import type { Background, SyncReply } from './ports';
import { PageReading, type PostLocation } from './reading';
import type { Yielder } from './slices';

export type { PostLocation as Place } from './reading';

export interface PageSource {
  url(): URL;
  site(url: URL): Site | null;
  read(site: Site, url: URL): Steps<Extraction>;
}

type PostDecision = Extract<Decision, { kind: 'skip' | 'send' }>;

interface Current {
  readonly id: string;
  readonly decision: PostDecision;
  /** The address without its fragment. */
  readonly page: string;
  location: PostLocation | null;
}

/** One look at the page; `again` if another was requested meanwhile. */
interface Look {
  readonly page: string;
  done: Promise<void>;
  again: boolean;
}

interface Found {
  readonly decision: Decision;
  readonly location: PostLocation | null;
}

export class PageSession {
  readonly #source: PageSource;
  readonly #background: Background;
  readonly #onMoved: () => void;
  readonly #reading: PageReading;
  readonly #script: string = crypto.randomUUID();
  #last = 0;
  #current: Current | null = null;
  /** What was shown before, for a page that does not say what it shows now. */
  #previous: { readonly page: string; readonly content: PageContent } | null = null;
  #look: Look | null = null;
  #page = '';
  #waits = 0;
  #versions = 0;
  #pausedUntil = 0;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #refreshTimer: ReturnType<typeof setTimeout> | undefined;

  /** `moved` is called whenever the post's element changes; `location` is the new one. */
  constructor(source: PageSource, background: Background, yielder: Yielder, moved: () => void) {
    this.#source = source;
    this.#background = background;
    this.#reading = new PageReading(yielder);
    this.#onMoved = moved;
  }

  get id(): string | null {
    return this.#current?.id ?? null;
  }

  get location(): PostLocation | null {
    return this.#current?.location ?? null;
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
      if (look.again && this.#reading.dirty) this.#refreshLater(0);
    });
    return look.done;
  }

  /** The post is gone, or the reader wants nothing of us here. */
  end(): void {
    this.#look = null;
    clearTimeout(this.#refreshTimer);
    this.#drop();
  }

  /** Report what is here as if it had just appeared. */
  restart(): Promise<void> {
    this.end();
    this.#pausedUntil = 0;
    return this.refresh();
  }

  async #lookAt(look: Look, url: URL): Promise<void> {
    const { page } = look;
    clearTimeout(this.#refreshTimer);
    if (this.#page !== page) {
      this.#page = page;
      this.#waits = this.#versions = this.#pausedUntil = 0;
      this.#drop();
    }
    const current = this.#current;
    const stands = current?.location?.root.isConnected !== false;
    if (current !== null && (isFinal(current.decision) || (stands && !this.#reading.dirty))) return;
    const calm = current === null ? 0 : Math.max(0, this.#pausedUntil - Date.now());
    if (calm > 0) this.#refreshLater(calm);
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
    const { decision, location } = found;
    if (decision.kind === 'nothing') this.#drop();
    else if (decision.kind === 'wait') {
      // A post that is being re-rendered is still the same post.
      if (current === null) this.#drop();
      this.#reading.dirty = true;
      this.#refreshLater(retryAfterMs(this.#waits++));
    } else if (current !== null && (calm > 0 || isSame(current.decision, decision))) {
      this.#setLocation(current, location);
      if (calm > 0) this.#reading.dirty = true;
    } else this.#begin(decision, page, url, location);
  }

  *#steps(site: Site, url: URL, page: string, calm: boolean): Steps<Found> {
    const read = yield* this.#source.read(site, url);
    const decision = decide(read);
    if (read.kind !== 'ready' || decision.kind !== 'send') return { decision, location: null };
    const left = this.#previous;
    if (!read.isNamed && left !== null && left.page !== page && showsPreviousPost(read.content, left.content)) {
      return { decision: { kind: 'wait' }, location: null };
    }
    const { root, scope = null, excluded } = read;
    const location = { root, scope, excluded };
    const current = this.#current;
    if (calm || (current !== null && isSame(current.decision, decision))) return { decision, location };
    return { decision: { kind: 'send', content: yield* complete(read) }, location };
  }

  #begin(decision: PostDecision, page: string, url: URL, location: PostLocation | null): void {
    this.#drop();
    this.#waits = 0;
    if (decision.kind === 'send') this.#pausedUntil = Date.now() + versionPauseMs(++this.#versions);
    const current: Current = { id: `${this.#script}/${++this.#last}`, decision, page, location: null };
    this.#current = current;
    this.#setLocation(current, location);
    void this.#report(current, url.href, 0);
  }

  #drop(): void {
    clearTimeout(this.#retry);
    const ended = this.#current;
    this.#current = null;
    if (ended === null) return;
    if (ended.decision.kind === 'send') this.#previous = { page: ended.page, content: ended.decision.content };
    this.#onMoved();
    void this.#background.resetSession(ended.id);
  }

  #setLocation(current: Current, location: PostLocation | null): void {
    if (location === null) return;
    const moved = current.location?.root !== location.root;
    current.location = location;
    if (moved) this.#onMoved();
  }

  async #report(current: Current, url: string, attempt: number): Promise<void> {
    const { id, decision } = current;
    const said =
      decision.kind === 'send'
        ? this.#background.sendContent(id, decision.content, attempt)
        : this.#background.sendSkipped(id, decision.post, url, decision.reason);
    const reply = await said.catch((): SyncReply => ({ ok: false, retryAfterMs: retryAfterMs(attempt) }));
    if (this.#current !== current || reply.ok || reply.retryAfterMs === null) return;
    this.#retry = setTimeout(() => void this.#report(current, url, attempt + 1), reply.retryAfterMs);
  }

  #refreshLater(ms: number): void {
    clearTimeout(this.#refreshTimer);
    this.#refreshTimer = setTimeout(() => void this.refresh(), ms);
  }
}

function isFinal(decision: PostDecision): boolean {
  return decision.kind === 'skip' && decision.final;
}

/** Whether two readings of one address have the same outcome. */
function isSame(one: PostDecision, other: PostDecision): boolean {
  if (one.kind === 'send') return other.kind === 'send' && sameVersion(one.content, other.content);
  return other.kind === 'skip' && one.reason === other.reason && one.post.externalId === other.post.externalId;
}
