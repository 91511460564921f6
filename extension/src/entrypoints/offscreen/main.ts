/** Runs checks in Chrome, one for each port that the background opens; a port that closes cancels its check. */
import { browser } from 'wxt/browser';

import { senderOf } from '../../background/browser';
import { RUNNER_PORT } from '../../protocol/check';
import { type FromJob, type Job, runJob } from '../../verdict/job';

browser.runtime.onConnect.addListener((port) => {
  // Scripts in pages can open ports too; a job from there could name any address.
  if (port.name !== RUNNER_PORT || port.sender === undefined || senderOf(port.sender)?.kind !== 'page') return;
  const cancel = new AbortController();
  port.onDisconnect.addListener(() => cancel.abort());
  port.onMessage.addListener((job: Job) => {
    const send = (message: FromJob): void => {
      if (!cancel.signal.aborted) port.postMessage(message);
    };
    runJob(job, send, cancel.signal)
      .catch(console.error)
      .finally(() => port.disconnect());
  });
});
