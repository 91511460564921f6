/** Metadata as the wire wants it: what is not known is absent, not null. Source: docs/protocol.md 2.1. */

import type { Metadata } from './base';

export function omitUnknown(fields: Record<string, string | number | string[] | null | undefined>): Metadata {
  const known: Metadata = {};
  for (const [name, value] of Object.entries(fields)) {
    if (value !== null && value !== undefined) known[name] = value;
  }
  return known;
}
