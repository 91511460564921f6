/** Writes the files of private look-ups, as the server does. */
import { gzipSync } from 'node:zlib';

import { BLOCK_BYTES } from '../../src/lookup/files';
import type { Bytes } from '../../src/tlog/encoding';

/** Frame and pad a JSON document. */
export function frame(document: unknown): Bytes {
  const packed = gzipSync(JSON.stringify(document));
  const body = new Uint8Array(Math.ceil((packed.length + 4) / BLOCK_BYTES) * BLOCK_BYTES);
  new DataView(body.buffer).setUint32(0, packed.length);
  body.set(packed, 4);
  return body;
}
