/**
 * Which server addresses may be used: https anywhere, plain http only where the traffic stays in a private network.
 *
 * Page texts and keys travel to this address; a rule that is too loose here sends them unencrypted across the internet.
 * Source: docs/protocol.md 5.1.
 */
export const DEFAULT_SERVER = 'https://api.openerrata.com';

export type AddressProblem = 'no_url' | 'scheme' | 'public_http' | 'extras';

export interface Address {
  /** Without a slash at its end; may have a path. */
  readonly baseUrl: string;
  readonly host: string;
  /** Permission pattern; patterns know no ports. */
  readonly pattern: string;
}

export type ReadAddress =
  { readonly ok: true; readonly address: Address } | { readonly ok: false; readonly problem: AddressProblem };

/** Read what a reader entered; empty means the default server. */
export function readAddress(entered: string): ReadAddress {
  const trimmed = entered.trim() || DEFAULT_SERVER;
  if (!URL.canParse(trimmed)) return { ok: false, problem: 'no_url' };
  const url = new URL(trimmed);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return { ok: false, problem: 'scheme' };
  if (url.username !== '' || url.password !== '' || /[?#]/.test(trimmed)) return { ok: false, problem: 'extras' };
  if (url.protocol === 'http:' && !isPrivateHost(url.hostname)) return { ok: false, problem: 'public_http' };
  return {
    ok: true,
    address: {
      baseUrl: url.href.replace(/\/+$/, ''),
      host: url.host,
      pattern: `${url.protocol}//${url.hostname}/*`,
    },
  };
}

/** The server to talk to; an address that may not be used counts as none. */
export function serverAddress(entered: string): Address {
  const read = readAddress(entered);
  if (read.ok) return read.address;
  const fallback = readAddress(DEFAULT_SERVER);
  if (!fallback.ok) throw new Error('the default server must be usable');
  return fallback.address;
}

/** Whether a host name, as `URL` writes it, can only mean this computer or a private network. */
export function isPrivateHost(hostname: string): boolean {
  if (hostname === 'localhost' || hostname.endsWith('.localhost') || hostname === 'host.docker.internal') return true;
  if (hostname.startsWith('[')) return isPrivateIpv6(hostname.slice(1, -1));
  const octets = /^(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(hostname)?.slice(1).map(Number);
  if (octets === undefined) return false;
  const [a, b] = octets as [number, number];
  return (
    hostname === '0.0.0.0' ||
    a === 10 ||
    a === 127 ||
    (a === 172 && b >= 16 && b <= 31) ||
    (a === 192 && b === 168) ||
    (a === 169 && b === 254)
  );
}

/** `URL` writes IPv6 addresses in their shortest form, so the first group decides the range. */
function isPrivateIpv6(address: string): boolean {
  if (address === '::1' || address === '::') return true;
  const first = /^([0-9a-f]{4}):/.exec(address)?.[1];
  return first !== undefined && (/^f[cd]/.test(first) || /^fe[89ab]/.test(first));
}

/** The public page of an investigation on a server; null where its id is not known. */
export function publicUrl(investigationId: string | null, baseUrl: string): string | null {
  return investigationId === null ? null : `${baseUrl}/investigations/${encodeURIComponent(investigationId)}`;
}
