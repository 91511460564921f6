/**
 * Asks a server of chat completions: LM Studio, OpenRouter or any other of the same protocol.
 *
 * This file and src/verdict/search are all that a check sends. The key goes into the header of this server's requests and
 * nowhere else; redirects are not followed, because they could lead to a host that the reader was not told about.
 */
import { Assembly } from './assembly';
import { readText } from './body';
import type { ChatBody, ModelAnswer, ModelProblem } from './chat_format';
import { LIMITS } from './given';
import type { Clock, Model } from './ports';

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export interface Server {
  /** Without a slash at its end. */
  readonly baseUrl: string;
  /** Empty means none. */
  readonly key: string;
}

type Post = (body: ChatBody, signal: AbortSignal) => Promise<Response>;

/** What OpenAI's newer models call `max_tokens`, which they refuse, and older servers do not know. */
const NEWER_LIMIT = 'max_completion_tokens';

export function chatModel(server: Server, fetch: Fetch, clock: Clock): Model {
  const post = poster(server, fetch);
  return {
    async ask(body, signal) {
      const silence = watchForSilence(clock);
      const answer = await request(post, body, AbortSignal.any([signal, silence.signal]), silence.postpone);
      silence.stop();
      return silence.signal.aborted && !answer.ok ? failed({ kind: 'silent' }) : answer;
    },
  };
}

/** Sends requests, and remembers how the server calls the limit of an answer. */
function poster({ baseUrl, key }: Server, fetch: Fetch): Post {
  let limit = 'max_tokens';
  const headers = {
    'content-type': 'application/json',
    ...(key === '' ? {} : { authorization: `Bearer ${key}` }),
    // Anthropic refuses what comes from a browser without this.
    ...(baseUrl.startsWith('https://api.anthropic.com/')
      ? { 'anthropic-dangerous-direct-browser-access': 'true' }
      : {}),
  };
  return async function post(body, signal) {
    const { max_tokens: most, ...rest } = body;
    const response = await fetch(`${baseUrl}/chat/completions`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ ...rest, [limit]: most }),
      credentials: 'omit',
      cache: 'no-store',
      redirect: 'manual',
      referrerPolicy: 'no-referrer',
      signal,
    });
    if (response.status !== 400 || limit === NEWER_LIMIT) return response;
    if ((await readText(response, LIMITS.answerBytes))?.includes(NEWER_LIMIT) !== true) return response;
    limit = NEWER_LIMIT;
    return post(body, signal);
  };
}

async function request(post: Post, body: ChatBody, signal: AbortSignal, onBytes: () => void): Promise<ModelAnswer> {
  let received = 0;
  let hasBegun = false;
  try {
    const response = await post(body, signal);
    if (!response.ok) {
      void response.body?.cancel().catch(() => undefined);
      if (response.status < 400) return failed({ kind: 'broken' });
      return failed({ kind: 'status', status: response.status, retryAfterS: readRetryAfter(response.headers) });
    }
    // If a connection breaks, bytes that were not read yet are lost, so the head alone shows that the model has begun.
    hasBegun = true;
    const assembly = new Assembly();
    const reader = response.body?.getReader();
    for (;;) {
      const { done = true, value } = (await reader?.read()) ?? {};
      if (done) break;
      onBytes();
      received += value!.length;
      const isEnough = assembly.push(value!);
      if (!isEnough && received <= LIMITS.answerBytes) continue;
      void reader!.cancel().catch(() => undefined);
      if (!isEnough) return failed({ kind: 'broken' });
      break;
    }
    const answer = assembly.end();
    return 'kind' in answer ? failed(answer) : { ok: true, reply: answer };
  } catch {
    return failed({ kind: 'lost', begun: hasBegun });
  }
}

/** A signal that aborts once no bytes have come for the longest allowed silence. */
function watchForSilence(clock: Clock): { signal: AbortSignal; postpone: () => void; stop: () => void } {
  const controller = new AbortController();
  const start = (): (() => void) => clock.after(LIMITS.silenceS * 1_000, () => controller.abort());
  let stop = start();
  return {
    signal: controller.signal,
    postpone: () => {
      stop();
      stop = start();
    },
    stop: () => stop(),
  };
}

/** Units: seconds. A date counts from now. */
function readRetryAfter(headers: Headers): number | null {
  const said = headers.get('retry-after')?.trim() ?? '';
  if (/^[0-9]{1,9}$/.test(said)) return Number(said);
  const moment = Date.parse(said);
  return Number.isNaN(moment) ? null : Math.max(0, Math.ceil((moment - Date.now()) / 1_000));
}

function failed(problem: ModelProblem): ModelAnswer {
  return { ok: false, problem };
}
