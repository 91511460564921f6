/**
 * A weak sign that a request comes from the extension: an HMAC over the exact body. Nothing depends on it.
 *
 * Source: docs/protocol.md 1.5.
 */
const BUILT_IN_SECRET = 'openerrata-attestation-v1';

const encoder = new TextEncoder();

/** Sign a body; lower-case hexadecimal. */
export async function attest(body: string, secret: string): Promise<string> {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const key = await crypto.subtle.importKey('raw', encoder.encode(secret || BUILT_IN_SECRET), algorithm, false, [
    'sign',
  ]);
  const signature = await crypto.subtle.sign('HMAC', key, encoder.encode(body));
  return Array.from(new Uint8Array(signature), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
