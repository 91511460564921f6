/** A browser and a server that a test controls: the real rules of the wire, no network, no clock of its own. */
import { createHmac } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';

import { vi } from 'vitest';

import type { Badge } from '../../src/background/badge';
import type { OpenTab } from '../../src/background/ports';
import type { Net } from '../../src/background/server';
import { type MessageReply, type Sender, type Dependencies, Worker } from '../../src/background/worker';
import { type ToContent, write } from '../../src/protocol/messages';
import type { TabStatus } from '../../src/protocol/status';

export const BASE = 'https://errata.example';
export const PAGE = 'https://x.com/ada/status/20';

/**
 * Time stands still but for `pass`, and a request is signed without the thread that a browser uses: what a test sees
 * after so many seconds does not depend on how busy the machine is.
 */
export function stopTime(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  vi.spyOn(crypto.subtle, 'importKey').mockImplementation(async (_format, raw) => raw as never);
  vi.spyOn(crypto.subtle, 'sign').mockImplementation(async (_algorithm, key, data) => {
    const { buffer, byteOffset, byteLength } = createHmac('sha256', key as never)
      .update(data as Uint8Array)
      .digest();
    return buffer.slice(byteOffset, byteOffset + byteLength);
  });
}

let working = 0;

/** Count calls that other threads answer, in a time that no number of turns of the event loop bounds. */
function count<Owner>(owner: Owner, ...names: readonly (keyof Owner)[]): void {
  for (const name of names) {
    const original = owner[name] as (...given: unknown[]) => Promise<unknown>;
    owner[name] = function (this: unknown, ...given: unknown[]) {
      working++;
      return original.apply(this, given).finally(() => working--);
    } as never;
  }
}

count(crypto.subtle, 'digest', 'importKey', 'sign', 'verify');
count(ReadableStreamDefaultReader.prototype, 'read'); // of what is unpacked

/** Wait for all that was set off. */
export async function quiet(): Promise<void> {
  for (let turn = 0; turn < 20; turn = working === 0 ? turn + 1 : 0)
    await new Promise((resolve) => setImmediate(resolve));
}

/** Let time pass, a second at a time, each with all that it sets off. */
export async function pass(ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 1_000) {
    await vi.advanceTimersByTimeAsync(Math.min(left, 1_000));
    await new Promise((resolve) => setImmediate(resolve));
  }
}

export interface Request {
  readonly procedure: string;
  readonly method: string;
  readonly headers: Headers;
  readonly input: unknown;
  readonly body: string | null;
}

type Answerer = (request: Request) => Response | Promise<Response>;

/** Answers by procedure; what has no answer is an error of the test. */
export class FakeServer implements Net {
  readonly requests: Request[] = [];
  readonly answers: Record<string, Answerer> = {};
  online = true;
  up = true;
  permitted = true;

  async fetch(url: string, init: RequestInit): Promise<Response> {
    if (!this.online || !this.up) throw new TypeError('Failed to fetch');
    const address = new URL(url);
    const procedure = address.pathname.split('/').at(-1)!;
    const body = typeof init.body === 'string' ? init.body : null;
    const asked = body ?? address.searchParams.get('input');
    const request = {
      procedure,
      method: init.method!,
      headers: new Headers(init.headers),
      input: asked === null ? undefined : (JSON.parse(asked) as unknown),
      body,
    };
    this.requests.push(request);
    const answer = this.answers[procedure];
    if (answer === undefined) throw new Error(`no answer prepared for ${procedure}`);
    return answer(request);
  }

  isOnline(): boolean {
    return this.online;
  }

  async hasPermission(): Promise<boolean> {
    return this.permitted;
  }

  /** The answer's data from now on. */
  says(procedure: string, data: unknown): void {
    this.answers[procedure] = () => ok(data);
  }

  asked(procedure: string): Request[] {
    return this.requests.filter((request) => request.procedure === procedure);
  }
}

export function ok(data: unknown): Response {
  return Response.json({ result: { data } });
}

export function failure(code: string, httpStatus: number, extra: Record<string, unknown> = {}): Response {
  const body = { error: { message: 'for people', code: -32600, data: { code, httpStatus, path: 'post.x', ...extra } } };
  return Response.json(body, { status: httpStatus });
}

/** Local storage, copying as a browser does; it reports what is another value than before, as Chrome does. */
export class FakeArea {
  readonly items = new Map<string, unknown>();
  onChanged: (keys: string[]) => void = () => undefined;

  async get(keys: string[] | null): Promise<Record<string, unknown>> {
    const wanted = [...this.items].filter(([key]) => keys === null || keys.includes(key));
    return structuredClone(Object.fromEntries(wanted));
  }

  async set(items: Record<string, unknown>): Promise<void> {
    const changed = Object.entries(items).filter(([key, value]) => !isDeepStrictEqual(value, this.items.get(key)));
    for (const [key, value] of changed) this.items.set(key, structuredClone(value));
    if (changed.length > 0) this.onChanged(changed.map(([key]) => key));
  }

  async remove(keys: string | string[]): Promise<void> {
    for (const key of [keys].flat()) this.items.delete(key);
  }
}

/** Everything around a worker; `begin` starts one, and a second one as if the first had been ended. */
export class FakeEnvironment {
  readonly server = new FakeServer();
  readonly area = new FakeArea();
  readonly memory = new FakeArea();
  readonly refreshes: number[] = [];
  readonly hintWakes: number[] = [];
  readonly messages: { readonly tabId: number; readonly message: ToContent }[] = [];
  readonly badges = new Map<number | null, Badge>();
  readonly registered: string[] = [];
  readonly started: number[] = [];
  readonly allowedSites = new Set<string>();
  tabs: OpenTab[] = [];
  activeTab: number | null = 1;
  /** Tabs of windows that are to leave no trace. */
  readonly traceless = new Set<number>();
  alarmRunning = false;
  now = 1_000_000;

  constructor() {
    this.server.says('post.registerObservedVersion', REGISTERED);
    this.server.says('post.recordViewAndGetStatus', NOT_INVESTIGATED);
    this.area.items.set('apiBaseUrl', BASE);
    this.area.items.set('mode', 'full');
  }

  async begin(): Promise<Worker> {
    const dependencies: Dependencies = {
      area: this.area,
      memory: this.memory,
      net: this.server,
      clock: { now: () => this.now },
      alarm: { start: () => (this.alarmRunning = true), stop: () => (this.alarmRunning = false) },
      refreshTimer: { ensure: (minutes) => this.refreshes.push(minutes) },
      wakeForHint: (minutes) => this.hintWakes.push(minutes),
      pages: {
        send: (tabId, message) => this.messages.push(structuredClone({ tabId, message })),
        openTabs: async () => this.tabs,
        activeTab: async () => this.activeTab,
        leavesNoTrace: async (tabId) => this.traceless.has(tabId),
        setBadge: (tabId, badge) => this.badges.set(tabId, badge),
      },
      scripts: {
        hasPermission: async (pattern) => this.allowedSites.has(pattern),
        registeredHosts: async () => [...this.registered],
        register: async (host) => void this.registered.push(host),
        unregister: async (host) => void this.registered.splice(this.registered.indexOf(host), 1),
        injectInto: async (tabId) => void this.started.push(tabId),
        revokePermission: async (pattern) => void this.allowedSites.delete(pattern),
      },
      version: '1.0.0',
    };
    const worker = await Worker.start(dependencies);
    this.area.onChanged = (keys) => void worker.onSettingsChanged(keys);
    return worker;
  }

  /** The kinds of states sent to a tab's page, in order. */
  statesOf(tabId: number): string[] {
    return this.messages.flatMap(({ tabId: to, message }) =>
      to === tabId && message.type === 'STATE' ? [message.payload.status.state.kind] : [],
    );
  }

  sent(type: ToContent['type']): number[] {
    return this.messages.flatMap(({ tabId, message }) => (message.type === type ? [tabId] : []));
  }
}

export const PAGE_SENDER: Sender = { kind: 'page' };

export function tab(tabId: number, url = PAGE): Sender {
  return { kind: 'content', tabId, url };
}

export const CONTENT = {
  platform: 'X',
  externalId: '20',
  url: PAGE,
  contentText: 'A walk in the park. The Moon is made of cheese.',
  mediaState: 'text_only',
  imageUrls: [],
  imageOccurrences: [],
  metadata: { authorHandle: 'ada', text: 'A walk in the park. The Moon is made of cheese.', mediaUrls: [] },
};

export function pageContent(tabSessionId = 's1', attempt = 0, content: unknown = CONTENT) {
  return write('PAGE_CONTENT', { tabSessionId, attempt, content });
}

export const REGISTERED = {
  platform: 'X',
  externalId: '20',
  versionHash: 'ab'.repeat(32),
  postVersionId: 'v1',
  provenance: 'CLIENT_FALLBACK',
};

export const NOT_INVESTIGATED = { investigationState: 'NOT_INVESTIGATED', priorInvestigationResult: null };

export const PAYLOAD = {
  text: 'The Moon is made of cheese.',
  context: 'park. The Moon is made of cheese.',
  summary: 'It is made of rock.',
  reasoning: 'Samples were brought back.',
  sources: [{ url: 'https://moon.example/rock', title: 'Rock', snippet: 'Basalt.' }],
};

export const CLAIM = { ...PAYLOAD, id: 'c1' };

export const PRIOR = { oldClaims: [CLAIM], sourceInvestigationId: 'i0' };

export function investigating(pending: number, confirmed: number, more: Record<string, unknown> = {}) {
  return {
    investigationState: 'INVESTIGATING',
    status: 'PROCESSING',
    provenance: 'CLIENT_FALLBACK',
    pendingClaims: Array.from({ length: pending }, () => PAYLOAD),
    confirmedClaims: Array.from({ length: confirmed }, () => PAYLOAD),
    priorInvestigationResult: null,
    ...more,
  };
}

export const INVESTIGATED = { investigationState: 'INVESTIGATED', provenance: 'SERVER_VERIFIED', claims: [CLAIM] };

export const DONE = { ...INVESTIGATED, checkedAt: '2026-02-03T04:05:06.789Z' };

export const FAILED = { investigationState: 'FAILED', provenance: 'SERVER_VERIFIED' };

export function queued(status: 'PENDING' | 'PROCESSING' | 'FAILED' = 'PENDING', investigationId = 'i1') {
  return { investigationId, status, provenance: 'CLIENT_FALLBACK' };
}

/** Run everything pending up to the next timer. */
export const settled = () => vi.advanceTimersByTimeAsync(0);

/** What the popup receives. */
export async function cached(worker: Worker, tabId = 1): Promise<{ status: TabStatus | null; upgrade: unknown }> {
  const reply: MessageReply = await worker.receive(write('GET_CACHED', { tabId }), PAGE_SENDER);
  return reply as never;
}

export const state = async (worker: Worker, tabId = 1) => (await cached(worker, tabId)).status?.state;
export const investigate = (worker: Worker, tabId = 1) =>
  worker.receive(write('INVESTIGATE_NOW', { tabId }), PAGE_SENDER);
