/**
 * Whether a server can be used, and if not, why, so that the reader can act on it.
 *
 * `probe` finds out whether an address is an OpenErrata server and sends no key, so it may run while somebody types;
 * `test` also sends the keys, and is for an address that the reader has settled on.
 */
import { readHealth, type SettingsVerdict } from '../protocol/rpc';
import { having, Malformed, text } from '../protocol/read';
import type { Problem } from '../protocol/status';
import type { Address } from '../settings/address';
import { type Access, callProcedure, sendRequest, type Net } from './server';

/** Longer than a server gives OpenAI to answer. */
const TEST_MS = 9_000;

export type ConnectionResult =
  | { readonly kind: 'reachable' }
  | { readonly kind: 'connected'; readonly verdict: SettingsVerdict }
  /** An OpenErrata server that reports a fault of its own. */
  | { readonly kind: 'unwell' }
  | { readonly kind: 'http_error'; readonly status: number }
  | { readonly kind: 'problem'; readonly problem: Problem };

/** Check whether there is an OpenErrata server. */
export async function probe(net: Net, address: Address): Promise<ConnectionResult> {
  const init = { method: 'GET', headers: { accept: 'application/json' } };
  const reply = await sendRequest(net, address, `${address.baseUrl}/health`, init, TEST_MS);
  if (!reply.ok) return { kind: 'problem', problem: reply.problem };
  const { status, json } = reply.value;
  if (status >= 200 && status < 300) {
    return isReadable(readHealth, json)
      ? { kind: 'reachable' }
      : { kind: 'problem', problem: { kind: 'not_openerrata' } };
  }
  if (isReadable(unhealthy, json)) return { kind: 'unwell' };
  return status === 404 ? { kind: 'problem', problem: { kind: 'not_openerrata' } } : { kind: 'http_error', status };
}

/** Check whether a server accepts these keys. */
export async function test(net: Net, access: Access): Promise<ConnectionResult> {
  const found = await probe(net, access.address);
  if (found.kind !== 'reachable') return found;
  const asked = await callProcedure(net, access, 'post.validateSettings', undefined, TEST_MS);
  return asked.ok ? { kind: 'connected', verdict: asked.value } : { kind: 'problem', problem: asked.problem };
}

const unhealthy = having({ status: text, minimumSupportedExtensionVersion: text });

function isReadable(read: (value: unknown, at: string) => unknown, value: unknown): boolean {
  try {
    read(value, 'health');
    return true;
  } catch (error) {
    if (error instanceof Malformed) return false;
    throw error;
  }
}
