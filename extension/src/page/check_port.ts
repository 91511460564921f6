/** Has a post checked by the background, which alone speaks to models and search engines. */
import { browser } from 'wxt/browser';

import type { Post } from '../feeds/base';
import { CHECK_PORT, type CheckMessage, type CheckRequest } from '../protocol/check';
import { isEnded, type Out } from '../verdict/check';

/** Start a check; call what is returned to cancel it. */
export function startCheck({ words, permalink }: Post, onMessage: (out: Out) => void): () => void {
  const port = browser.runtime.connect({ name: CHECK_PORT });
  let ended = false;
  port.onMessage.addListener((message: unknown) => {
    const said = message as CheckMessage;
    if (said.at === 'alive' || ended) return;
    ended = isEnded(said);
    onMessage(said);
  });
  port.onDisconnect.addListener(() => {
    if (!ended) onMessage({ at: 'failed', failure: { code: 'interrupted' } });
  });
  const request: CheckRequest = { type: 'START', words, permalink };
  port.postMessage(request);
  return () => port.disconnect();
}
