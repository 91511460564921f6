/**
 * The content script is a build of its own; the worker and the extension's own pages are another. Each leaves out what only
 * the other does, or the package would hold it twice. Tests run both.
 */
export const IN_PAGE = import.meta.env.ENTRYPOINT !== 'html';
export const IN_WORKER = import.meta.env.ENTRYPOINT !== 'content';

/** Stands for what reads pages, outside of the content script. */
export function onlyInPage(): never {
  throw new Error('only a content script reads pages');
}

/** Stands for what reads messages of the content script, inside it. */
export function onlyInWorker(): never {
  throw new Error('only the worker reads messages of pages');
}
