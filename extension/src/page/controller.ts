/**
 * Everything that happens in one document, put together; `entrypoints/content.ts` only starts it.
 *
 * Nothing is read from the page before the worker has confirmed that the extension is active on this site.
 */
import { browser } from 'wxt/browser';

import { feedFor } from '../feeds';
import { extract, siteFor } from '../platforms';
import type { Answer, PageSettings, ToContent } from '../protocol/messages';
import { PROTOCOL_VERSION } from '../protocol/wire';
import { Annotations } from './annotations';
import { connectBackground, requestPageSettings } from './background';
import { PostChecks } from './check';
import { startCheck } from './check_port';
import { retryAfterMs } from './decide';
import { pageUnderlines } from './highlights';
import { HostElement } from './host_element';
import { InPageUi } from './in_page_ui';
import type { FramePort } from './frame_channel';
import { NO_FINDINGS } from './ports';
import { affects } from './reading';
import { PageSession } from './session';
import { toDisplayedFindings } from './displayed_findings';
import { pageYielder } from './slices';
import { watch } from './watch';

/** Start in `doc`; call what is returned to leave it as if nothing had been here. */
export function start(doc: Document): () => void {
  const view = doc.defaultView!;
  const stopped = new AbortController();
  const yielder = pageYielder();
  const worker = connectBackground(yielder);
  const underlines = pageUnderlines();
  let settings: PageSettings = { active: false, showHighlights: false, checks: false };

  const session = new PageSession(
    {
      url: () => new URL(view.location.href),
      site: (url) => siteFor(url, doc),
      read: (site, url) => extract(site, doc, url),
    },
    worker,
    yielder,
    () => (session.location === null ? annotations.show(NO_FINDINGS) : annotations.reanchor()),
  );
  const annotations = new Annotations(
    worker,
    underlines,
    yielder,
    () => session.location,
    () => {
      ui.updateTone();
      ui.refresh();
    },
  );
  const host = new HostElement(doc);
  const address = browser.runtime.getURL('/frame.html');
  const feed = feedFor(new URL(view.location.href));
  const checks =
    feed &&
    new PostChecks({
      doc,
      host,
      feed,
      address,
      title: browser.i18n.getMessage('checkFrameTitle'),
      buttonLabel: browser.i18n.getMessage('checkButton'),
      start: startCheck,
      onPress: (open) => (isOrphaned() ? stop() : open()),
    });
  const ui = new InPageUi({
    doc,
    host,
    address,
    title: browser.i18n.getMessage('pageFrameTitle'),
    underlines,
    shown: () => annotations.displayed,
    root: () => session.location?.root ?? null,
  });

  const stop = (): void => {
    stopped.abort();
    session.end();
    underlines.clear();
    ui.stop();
    checks?.stop();
    if (!isOrphaned()) {
      browser.runtime.onMessage.removeListener(onMessage);
      browser.runtime.onConnect.removeListener(onConnect);
    }
  };

  const apply = (next: PageSettings): void => {
    settings = next;
    underlines.setVisible(next.showHighlights);
    if (next.active) void session.refresh();
    else session.end();
    if (next.checks) checks?.start();
    else checks?.stop();
  };

  const onMessage = (message: unknown, sender: { id?: string }, answer: (answer: Answer) => void): void => {
    if (sender.id !== browser.runtime.id || !isMessage(message)) return;
    switch (message.type) {
      case 'STATE':
        if (message.payload.status.tabSessionId === session.id)
          annotations.show(toDisplayedFindings(message.payload.status, message.payload.publicUrl));
        return;
      case 'PAGE_SETTINGS':
        apply(message.payload);
        return;
      case 'FOCUS_CLAIM':
        answer(ui.visit(message.payload.claimId) ? { ok: true } : { ok: false, error: 'not on this page' });
        return;
      case 'STEP':
        ui.step(message.payload.to === 'next' ? 1 : -1);
        return;
      case 'CHECK_POST':
        answer(checks?.checkInView() === true ? { ok: true } : { ok: false, error: 'no post in view' });
        return;
      case 'RESYNC':
        if (settings.active) void session.restart();
    }
  };
  const onConnect = (port: FramePort & { sender?: { id?: string } }): void => {
    if (port.sender?.id === browser.runtime.id && !ui.accept(port)) checks?.accept(port);
  };

  const requestSettings = (attempt: number): void => {
    requestPageSettings().then(apply, () => {
      if (!stopped.signal.aborted) setTimeout(() => requestSettings(attempt + 1), retryAfterMs(attempt));
    });
  };
  // A prerendered page has no reader yet, and the worker does not answer it.
  const begin = (): void => {
    if ((doc as { prerendering?: boolean }).prerendering !== true) requestSettings(0);
    else doc.addEventListener('prerenderingchange', () => requestSettings(0), { once: true, signal: stopped.signal });
  };

  browser.runtime.onMessage.addListener(onMessage);
  browser.runtime.onConnect.addListener(onConnect);
  ui.start();
  watch(
    doc,
    {
      onSettled() {
        if (!settings.active) return;
        void session.refresh().then(() => annotations.revalidate());
      },
      onMutations(records) {
        checks?.touch();
        if (!settings.active) return false;
        const { location } = session;
        const foreign = records.filter(
          ({ target, addedNodes }) =>
            target !== doc.documentElement || ![...addedNodes].every((node) => ui.isOwn(node)),
        );
        const nodes = foreign.map(({ target }) => target);
        const isGone = location?.root.isConnected === false;
        const matters = location === null || isGone || nodes.some((node) => affects(location, node));
        if (isGone || nodes.some((node) => location?.root.contains(node) === true)) annotations.invalidate();
        if (matters) session.touch(nodes);
        return matters;
      },
      onToneChange: () => ui.updateTone(),
      onReturn() {
        // A page in the cache receives no messages: settings that changed meanwhile have to be asked for.
        apply({ ...settings, active: false });
        requestSettings(0);
      },
      onTick() {
        // The extension was updated or removed; this script can reach no worker.
        if (isOrphaned()) stop();
        else underlines.restore();
      },
    },
    stopped.signal,
  );
  begin();
  return stop;
}

/** Whether the extension was updated or removed, so that nothing here can reach it any more. */
function isOrphaned(): boolean {
  return (browser.runtime as Partial<typeof browser.runtime> | undefined)?.id === undefined;
}

function isMessage(message: unknown): message is ToContent {
  return (message as { readonly v?: unknown } | undefined)?.v === PROTOCOL_VERSION;
}
