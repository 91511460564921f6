/**
 * Starts the extension in a page. Injected a second time into the same document, it takes over from the first.
 */
import { defineContentScript } from 'wxt/utils/define-content-script';

import { INSTALL_HOSTS } from '../hosts';
import '../page/highlights.css';
import { start } from '../page/controller';

// The script's own world, which the page cannot see; only another copy of this script finds it there.
const world = globalThis as { stopHere?: () => void };

export default defineContentScript({
  matches: [...INSTALL_HOSTS],
  runAt: 'document_idle',
  cssInjectionMode: 'manifest',
  noScriptStartedPostMessage: true,
  main() {
    world.stopHere?.();
    world.stopHere = start(document);
  },
});
