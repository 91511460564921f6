/**
 * One content script's request to have claims anchored, on its own port. Source: src/protocol/messages.ts.
 */
import { anchorClaims } from '../anchoring';
import { type AnchorAnswer, readAnchorMessage } from '../protocol/messages';
import type { AnchorOutcome } from '../protocol/status';

/** More than any page that is checked; a page that sends more has been taken over. Units: UTF-16 units. */
const MAX_TEXT = 20_000_000;

export class AnchorRequest {
  readonly #pieces: string[] = [];
  #length = 0;

  /** Take one message; the answer comes with the last. Raises: Malformed, RangeError. */
  accept(received: unknown): AnchorAnswer | null {
    const message = readAnchorMessage(received, 'anchor');
    if (message.type === 'TEXT') {
      this.#length += message.raw.length;
      if (this.#length > MAX_TEXT) throw new RangeError('the page is too long');
      this.#pieces.push(message.raw);
      return null;
    }
    const { breaks, markers, claims } = message;
    return { anchorings: anchorClaims({ raw: this.#pieces.join(''), breaks, markers }, claims) };
  }
}

export function outcomesOf({ anchorings }: AnchorAnswer): Record<string, AnchorOutcome> {
  return Object.fromEntries(anchorings.map(({ claimId, outcome }) => [claimId, outcome]));
}
