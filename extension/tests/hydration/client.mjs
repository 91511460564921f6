/** What the browser gets of it: `hydrate` does it when the test says so, `complaints` is all that React objects to. */
import { createElement } from 'react';
import { hydrateRoot } from 'react-dom/client';

import { Page } from './page.mjs';

globalThis.complaints = [];
globalThis.hydrate = (properties) => {
  const complain = (error) => globalThis.complaints.push(String(error));
  hydrateRoot(document, createElement(Page, properties), {
    onRecoverableError: complain,
    onUncaughtError: complain,
    onCaughtError: complain,
  });
};
