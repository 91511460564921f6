/**
 * Whether a server can be worked with, and if not, why in words that a reader can act on.
 *
 * `probe` tells whether an address is an OpenErrata server and sends no key, so it may run while somebody types;
 * `test` also sends the keys, and is for an address that the reader has settled on.
 */
import { readHealth, type SettingsVerdict } from '../protocol/rpc';
import { having, Malformed, text } from '../protocol/read';
import type { Problem } from '../protocol/status';
import type { Address } from '../settings/address';
import { type Access, ask, exchange, type Net } from './server';

/** Longer than a server gives OpenAI to answer. */
const TEST_MS = 9_000;

export type Finding =
  | { readonly kind: 'reachable' }
  | { readonly kind: 'connected'; readonly verdict: SettingsVerdict }
  /** Itself an OpenErrata server, but not well. */
  | { readonly kind: 'unwell' }
  | { readonly kind: 'http_error'; readonly status: number }
  | { readonly kind: 'problem'; readonly problem: Problem };

/** Look whether there is an OpenErrata server. */
export async function probe(net: Net, address: Address): Promise<Finding> {
  const init = { method: 'GET', headers: { accept: 'application/json' } };
  const reply = await exchange(net, address, `${address.baseUrl}/health`, init, TEST_MS);
  if (!reply.ok) return { kind: 'problem', problem: reply.problem };
  const { status, json } = reply.value;
  if (status >= 200 && status < 300) {
    return reads(readHealth, json) ? { kind: 'reachable' } : { kind: 'problem', problem: { kind: 'not_openerrata' } };
  }
  if (reads(unwell, json)) return { kind: 'unwell' };
  return status === 404 ? { kind: 'problem', problem: { kind: 'not_openerrata' } } : { kind: 'http_error', status };
}

/** Look what a server says to these keys. */
export async function test(net: Net, access: Access): Promise<Finding> {
  const found = await probe(net, access.address);
  if (found.kind !== 'reachable') return found;
  const asked = await ask(net, access, 'post.validateSettings', undefined, TEST_MS);
  return asked.ok ? { kind: 'connected', verdict: asked.value } : { kind: 'problem', problem: asked.problem };
}

const unwell = having({ status: text, minimumSupportedExtensionVersion: text });

function reads(read: (value: unknown, at: string) => unknown, value: unknown): boolean {
  try {
    read(value, 'health');
    return true;
  } catch (error) {
    if (error instanceof Malformed) return false;
    throw error;
  }
}
