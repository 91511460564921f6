/**
 * The form of every message between the extension's parts; src/protocol/messages.ts says which there are and reads them.
 */
export const PROTOCOL_VERSION = 1;

/** See `AnchorMessage` in src/protocol/messages.ts. */
export const ANCHOR_PORT = `anchor/${PROTOCOL_VERSION}`;

export interface Message<T extends string, P> {
  readonly v: typeof PROTOCOL_VERSION;
  readonly type: T;
  readonly payload: P;
}

/** Write a message. */
export function write<T extends string, P>(type: T, payload: P): Message<T, P> {
  return { v: PROTOCOL_VERSION, type, payload };
}
