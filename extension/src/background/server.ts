/**
 * One request to the server; its result is a value or a problem.
 *
 * This is the only file that sends what a page showed, or a key. Outcomes are read from codes only, never from a server's
 * messages. Redirects are not followed, because they would carry the keys along. Source: docs/protocol.md 1.2 to 1.8.
 */
import {
  type ProcedureOutput,
  MAX_BODY_BYTES,
  PROCEDURES,
  type ProcedureName,
  readAnswer,
  readRefusal,
  type Refusal,
} from '../protocol/rpc';
import { Malformed } from '../protocol/read';
import type { Problem } from '../protocol/status';
import type { Address } from '../settings/address';
import { type Bytes, concat } from '../tlog/encoding';
import { attest } from './attestation';

/** The network as this file needs it. */
export interface Net {
  fetch(url: string, init: RequestInit): Promise<Response>;
  isOnline(): boolean;
  /** Whether the extension has the browser's permission for addresses of this pattern. */
  hasPermission(pattern: string): Promise<boolean>;
}

/** The server's address and the credentials to use. */
export interface Access {
  readonly address: Address;
  readonly version: string;
  readonly apiKey: string;
  readonly openaiApiKey: string;
  readonly hmacSecret: string;
}

export type Result<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: Problem };

/** Shorter than a worker lives while it waits. */
export const TIMEOUT_MS = 25_000;
/** Findings wait for it. */
const LOG_TIMEOUT_MS = 5_000;
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

/** Ask, once. */
export async function callProcedure<N extends ProcedureName>(
  net: Net,
  access: Access,
  procedure: N,
  input?: Readonly<Record<string, unknown>>,
  timeoutMs = TIMEOUT_MS,
): Promise<Result<ProcedureOutput<N>>> {
  const { kind, carriesOpenAiKey } = PROCEDURES[procedure];
  const sent = input === undefined ? undefined : JSON.stringify(input, wellFormed);
  const url = new URL(`${access.address.baseUrl}/trpc/${procedure}`);
  const headers = new Headers({ 'x-openerrata-extension-version': access.version });
  if (access.apiKey !== '') headers.set('x-api-key', access.apiKey);
  if (carriesOpenAiKey && access.openaiApiKey !== '') headers.set('x-openai-api-key', access.openaiApiKey);
  const init: RequestInit = { method: kind === 'query' ? 'GET' : 'POST', headers };
  if (kind === 'mutation') {
    const body = sent ?? '';
    if (new TextEncoder().encode(body).length > MAX_BODY_BYTES) return failure({ kind: 'too_large' });
    headers.set('content-type', 'application/json');
    headers.set('x-openerrata-signature', await attest(body, access.hmacSecret));
    init.body = body;
  }
  const address = kind === 'query' && sent !== undefined ? `${url.href}?input=${encodeURIComponent(sent)}` : url.href;
  const reply = await sendRequest(net, access.address, address, init, timeoutMs);
  return reply.ok ? interpret(procedure, reply.value) : reply;
}

/** Half a surrogate pair, which a page's script can leave, is refused by the server and counts as U+FFFD in hashes. */
function wellFormed(_: string, value: unknown): unknown {
  return typeof value === 'string' ? value.toWellFormed() : value;
}

/** Read a file of the server's decision log; null where there is none. No key goes with it: the log is for everybody. */
export async function readLogFile(net: Net, address: Address, path: string): Promise<Bytes | null> {
  const reply = await sendRequest(net, address, `${address.baseUrl}/log/v1/${path}`, { method: 'GET' }, LOG_TIMEOUT_MS);
  return reply.ok && reply.value.status === 200 ? new TextEncoder().encode(reply.value.text) : null;
}

/** A file of private look-ups; without a body if the file with the sent `etag` is still current. */
export interface LookupReply {
  readonly status: number;
  readonly etag: string | null;
  readonly body: Bytes;
}

/**
 * Read a file of private look-ups. Nothing goes with it that tells one reader from another: no key, no version of the
 * extension, no signature, no languages.
 */
export async function readLookupFile(
  net: Net,
  address: Address,
  path: string,
  etag: string | null,
): Promise<Result<LookupReply>> {
  const headers = { 'accept-language': '*', ...(etag !== null && { 'if-none-match': etag }) };
  return receive(net, address, `${address.baseUrl}/lookup/v1/${path}`, { method: 'GET', headers }, TIMEOUT_MS);
}

/**
 * Send a hint. Nothing identifying goes with it either, and the answer is not read: only then does Firefox leave out the
 * origin, which names its installation. A browser then insists on following redirects; there is no key to carry along.
 */
export async function sendHint(net: Net, address: Address, platform: string, externalId: string): Promise<void> {
  const sent = net.fetch(`${address.baseUrl}/trpc/post.hint`, {
    method: 'POST',
    mode: 'no-cors',
    headers: { 'accept-language': '*' },
    body: JSON.stringify({ platform, externalId }),
    credentials: 'omit',
    cache: 'no-store',
    referrerPolicy: 'no-referrer',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  await sent.catch(() => undefined);
}

/** An answer that has not been interpreted yet. */
export interface HttpReply {
  readonly status: number;
  /** Undefined if the body is not JSON. */
  readonly json: unknown;
  readonly text: string;
}

/** Send one request and receive its whole answer. */
export async function sendRequest(
  net: Net,
  address: Address,
  url: string,
  init: RequestInit,
  timeoutMs: number,
): Promise<Result<HttpReply>> {
  const reply = await receive(net, address, url, init, timeoutMs);
  if (!reply.ok) return reply;
  const text = new TextDecoder().decode(reply.value.body);
  return { ok: true, value: { status: reply.value.status, json: parseJson(text), text } };
}

async function receive(
  net: Net,
  address: Address,
  url: string,
  init: RequestInit,
  timeoutMs: number,
): Promise<Result<LookupReply>> {
  try {
    const response = await net.fetch(url, {
      ...init,
      credentials: 'omit',
      cache: 'no-store',
      redirect: 'manual',
      referrerPolicy: 'no-referrer',
      signal: AbortSignal.timeout(timeoutMs),
    });
    if (response.type === 'opaqueredirect') return failure({ kind: 'not_openerrata' });
    const body = await readBody(response);
    return { ok: true, value: { status: response.status, etag: response.headers.get('etag'), body } };
  } catch {
    if (!net.isOnline()) return failure({ kind: 'offline' });
    if (!(await net.hasPermission(address.pattern))) return failure({ kind: 'no_permission', host: address.host });
    return failure({ kind: 'server_down' });
  }
}

function interpret<N extends ProcedureName>(procedure: N, { status, json }: HttpReply): Result<ProcedureOutput<N>> {
  if (status === 413) return failure({ kind: 'too_large' });
  try {
    if (status >= 200 && status < 300 && json !== undefined) {
      return { ok: true, value: readAnswer(procedure, json) };
    }
    return failure(problemOf(readRefusal(json)));
  } catch (error) {
    if (!(error instanceof Malformed)) throw error;
    if (isTemporary(status) || json === undefined)
      return failure({ kind: status === 404 ? 'not_openerrata' : 'server_down' });
    return failure({ kind: status === 404 ? 'not_openerrata' : 'bad_answer' });
  }
}

/** What an error means for the reader. */
function problemOf({ code, httpStatus, openerrataCode, minimumVersion }: Refusal): Problem {
  switch (openerrataCode) {
    case 'UPGRADE_REQUIRED':
      return { kind: 'upgrade_required', minimumVersion };
    case 'MALFORMED_EXTENSION_VERSION':
      return { kind: 'malformed_version' };
    case 'PAYLOAD_TOO_LARGE':
      return { kind: 'too_large' };
    case 'POST_FORGOTTEN':
      return { kind: 'erased' };
    default:
  }
  if (httpStatus === 413) return { kind: 'too_large' };
  if (code === 'NOT_FOUND') return { kind: 'not_openerrata' };
  if (httpStatus === 401 || httpStatus === 403) return { kind: 'unauthorized' };
  return { kind: isTemporary(httpStatus) ? 'server_down' : 'refused' };
}

function isTemporary(status: number): boolean {
  return status >= 500 || status === 429 || status === 408;
}

function failure(what: Problem): { readonly ok: false; readonly problem: Problem } {
  return { ok: false, problem: what };
}

async function readBody(response: Response): Promise<Bytes> {
  if (response.body === null) return new Uint8Array();
  const pieces: Uint8Array[] = [];
  let received = 0;
  const reader = response.body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return concat(...pieces);
    received += value.length;
    if (received > MAX_ANSWER_BYTES) {
      await reader.cancel();
      throw new Error('the answer is too long');
    }
    pieces.push(value);
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
