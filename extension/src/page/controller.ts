/**
 * Everything that happens in one document, put together; `entrypoints/content.ts` only starts it.
 *
 * Nothing is read from the page before the worker has said that the reader wants us on this site.
 */
import { browser } from 'wxt/browser';

import { extract, siteFor } from '../platforms';
import { PROTOCOL_VERSION, type Answer, type PageSettings, type ToContent } from '../protocol/messages';
import { Annotations } from './annotations';
import { background, hello } from './background';
import { retryAfterMs } from './decide';
import { pageUnderlines } from './highlights';
import { Interface } from './interface';
import type { FramePort } from './framed';
import { NOTHING_SHOWN } from './ports';
import { isAbout } from './reading';
import { PageSession } from './session';
import { shownOf } from './shown';
import { pageBreath } from './slices';
import { watch } from './watch';

/** Start in `doc`; call what is returned to leave it as if nothing had been here. */
export function start(doc: Document): () => void {
  const view = doc.defaultView!;
  const over = new AbortController();
  const breath = pageBreath();
  const worker = background(breath);
  const underlines = pageUnderlines();
  let settings: PageSettings = { active: false, showHighlights: false };

  const session = new PageSession(
    {
      url: () => new URL(view.location.href),
      site: (url) => siteFor(url, doc),
      read: (site, url) => extract(site, doc, url),
    },
    worker,
    breath,
    () => (session.place === null ? annotations.show(NOTHING_SHOWN) : annotations.moved()),
  );
  const annotations = new Annotations(
    worker,
    underlines,
    breath,
    () => session.place,
    () => {
      inPage.recolour();
      inPage.refresh();
    },
  );
  const inPage = new Interface({
    doc,
    address: browser.runtime.getURL('/frame.html'),
    title: browser.i18n.getMessage('pageFrameTitle'),
    underlines,
    shown: () => annotations.shown,
    root: () => session.place?.root ?? null,
  });

  const stop = (): void => {
    over.abort();
    session.end();
    underlines.clear();
    inPage.stop();
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
  };

  const onMessage = (message: unknown, sender: { id?: string }, answer: (answer: Answer) => void): void => {
    if (sender.id !== browser.runtime.id || !isMessage(message)) return;
    switch (message.type) {
      case 'STATE':
        if (message.payload.status.tabSessionId === session.id)
          annotations.show(shownOf(message.payload.status, message.payload.publicUrl));
        return;
      case 'PAGE_SETTINGS':
        apply(message.payload);
        return;
      case 'FOCUS_CLAIM':
        answer(inPage.visit(message.payload.claimId) ? { ok: true } : { ok: false, error: 'not on this page' });
        return;
      case 'STEP':
        inPage.step(message.payload.to === 'next' ? 1 : -1);
        return;
      case 'RESYNC':
        if (settings.active) void session.restart();
    }
  };
  const onConnect = (port: FramePort & { sender?: { id?: string } }): void => {
    if (port.sender?.id === browser.runtime.id) inPage.accept(port);
  };

  const greet = (attempt: number): void => {
    hello().then(apply, () => {
      if (!over.signal.aborted) setTimeout(() => greet(attempt + 1), retryAfterMs(attempt));
    });
  };
  // A page that is only prepared has no reader yet, and the worker answers it nothing.
  const begin = (): void => {
    if ((doc as { prerendering?: boolean }).prerendering !== true) greet(0);
    else doc.addEventListener('prerenderingchange', () => greet(0), { once: true, signal: over.signal });
  };

  browser.runtime.onMessage.addListener(onMessage);
  browser.runtime.onConnect.addListener(onConnect);
  inPage.start();
  watch(
    doc,
    {
      settled() {
        if (!settings.active) return;
        void session.refresh().then(() => annotations.settle());
      },
      changed(records) {
        if (!settings.active) return false;
        const { place } = session;
        const foreign = records.filter(
          ({ target, addedNodes }) =>
            target !== doc.documentElement || ![...addedNodes].every((node) => inPage.isOwn(node)),
        );
        const nodes = foreign.map(({ target }) => target);
        const isGone = place?.root.isConnected === false;
        const matters = place === null || isGone || nodes.some((node) => isAbout(place, node));
        if (isGone || nodes.some((node) => place?.root.contains(node) === true)) annotations.disturb();
        if (matters) session.touch(nodes);
        return matters;
      },
      recoloured: () => inPage.recolour(),
      returned() {
        if (settings.active) void session.restart();
      },
      pulse() {
        // The extension was updated or removed; what is left here can reach nobody.
        if (isOrphaned()) stop();
        else underlines.restore();
      },
    },
    over.signal,
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
