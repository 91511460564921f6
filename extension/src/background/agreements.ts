/**
 * Posts that a private reader has agreed to give to the server, each once.
 *
 * They are kept in memory only: after a worker has ended, its posts are looked up privately again, never sent by mistake.
 */
import type { TabStatus } from '../protocol/status';

type Post = Pick<TabStatus, 'platform' | 'externalId'>;

interface Agreement extends Post {
  /** The one session that may send it; null until it begins. */
  session: string | null;
}

export class Agreements {
  readonly #agreed = new Map<number, Agreement>();

  /** The reader of a tab agrees to its post being sent. */
  agree(tabId: number, { platform, externalId }: Post): void {
    this.#agreed.set(tabId, { platform, externalId, session: null });
  }

  /** Whether a session may send what it shows: the first one after the agreement, of the same post. */
  accepts(tabId: number, session: string, { platform, externalId }: Post): boolean {
    const agreed = this.#agreed.get(tabId);
    if (agreed === undefined) return false;
    const isSame = agreed.platform === platform && agreed.externalId === externalId;
    if (!isSame || (agreed.session ?? session) !== session) {
      this.#agreed.delete(tabId);
      return false;
    }
    agreed.session = session;
    return true;
  }
}
