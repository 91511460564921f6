/**
 * Listens to the browser and passes on to src/background/worker.ts.
 *
 * Every listener is added before anything is awaited: an event that wakes a worker is only delivered to listeners
 * that are there in its first turn.
 */
import { browser } from 'wxt/browser';
import { defineBackground } from 'wxt/utils/define-background';

import { AnchorRequest, outcomesOf } from '../background/anchoring';
import {
  alarm,
  HINT_ALARM,
  inject,
  net,
  pages,
  POLL_ALARM,
  REFRESH_ALARM,
  refreshTimer,
  scripts,
  senderOf,
  wakeForHint,
} from '../background/browser';
import { startJob } from '../background/check_runner';
import { Checks } from '../background/checks';
import { relay } from '../background/relay';
import { Worker } from '../background/worker';
import { CHECK_PORT } from '../protocol/check';
import { ANCHOR_PORT } from '../protocol/messages';

export default defineBackground({
  type: 'module',
  main() {
    const area = browser.storage.local;
    // A content script shares a process with its page and must not read the keys. Firefox cannot do this yet.
    void (area as Partial<typeof area>).setAccessLevel?.({ accessLevel: 'TRUSTED_CONTEXTS' });
    const clock = { now: () => Date.now() };
    const { version } = browser.runtime.getManifest();
    const begun = Worker.start({
      area,
      memory: browser.storage.session,
      net,
      clock,
      alarm,
      refreshTimer,
      wakeForHint,
      pages,
      scripts,
      version,
    });
    const checks = new Checks({
      ...{ area, session: browser.storage.session, now: clock.now, startJob },
      hasPermission: (pattern) => net.hasPermission(pattern),
      stayAwake(ms, call) {
        const timer = setInterval(() => {
          // Only calls of the browser's own functions keep Firefox from ending the background; messages do not.
          void browser.runtime.getPlatformInfo();
          call();
        }, ms);
        return () => clearInterval(timer);
      },
    });
    const then = (step: (worker: Worker) => Promise<unknown>) => void begun.then(step).catch(console.error);

    browser.runtime.onMessage.addListener((message: unknown, from, answer: (reply: unknown) => void) => {
      const sender = senderOf(from);
      if (sender === null) return false;
      then(async (worker) => answer(await worker.receive(message, sender)));
      return true;
    });
    browser.runtime.onConnect.addListener((port) => {
      if (import.meta.env.FIREFOX && relay(port)) return;
      const sender = port.sender === undefined ? null : senderOf(port.sender);
      if (port.name === CHECK_PORT && sender?.kind === 'content') {
        const { tabId, url } = sender;
        port.onMessage.addListener((message: unknown) => {
          checks.receive(message, port, tabId, url).catch((error: unknown) => {
            console.error(error);
            port.disconnect();
          });
        });
        port.onDisconnect.addListener(() => checks.onDisconnect(port));
        return;
      }
      if (port.name !== ANCHOR_PORT || sender?.kind !== 'content') return;
      const request = new AnchorRequest();
      port.onMessage.addListener((message: unknown) => {
        try {
          const answer = request.accept(message);
          if (answer === null) return;
          port.postMessage(answer);
          then((worker) => worker.recordOutcomes(sender.tabId, outcomesOf(answer)));
        } catch (error) {
          console.error(error);
          port.disconnect();
        }
      });
    });
    browser.alarms.onAlarm.addListener(({ name }) => {
      if (name === POLL_ALARM) then((worker) => worker.poll());
      if (name === REFRESH_ALARM) then((worker) => worker.refresh());
      if (name === HINT_ALARM) then((worker) => worker.sendHint());
    });
    const forget = (tabId: number): void => then((worker) => worker.onTabClosed(tabId));
    browser.tabs.onUpdated.addListener((tabId, { status, discarded }, tab) => {
      if (status === 'loading') then((worker) => worker.onTabLoading(tabId, tab.url ?? null));
      if (discarded === true) forget(tabId);
    });
    browser.tabs.onRemoved.addListener(forget);
    // A tab that Chrome takes out of memory gets another number.
    browser.tabs.onReplaced.addListener((_, tabId) => forget(tabId));
    browser.storage.onChanged.addListener((changes, where) => {
      if (where === 'local') then((worker) => worker.onSettingsChanged(Object.keys(changes)));
    });
    browser.permissions.onAdded.addListener(() => then((worker) => worker.onPermissionsChanged()));
    browser.permissions.onRemoved.addListener(() => then((worker) => worker.onPermissionsChanged(true)));
    browser.commands.onCommand.addListener((name: string) => then((worker) => worker.runCommand(name)));
    browser.runtime.onStartup.addListener(() => then((worker) => worker.onRestart()));
    browser.runtime.onInstalled.addListener(({ reason }) => {
      then(async (worker) => {
        if (await worker.onInstalled(reason === 'install'))
          await browser.tabs.create({ url: browser.runtime.getURL('/welcome.html') });
        await worker.onRestart();
        if (reason !== 'install') await inject();
      });
    });
  },
});
