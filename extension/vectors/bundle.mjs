/** How this folder is turned into code that runs: with options of its own, so that nothing need be generated before. */
import { fileURLToPath } from 'node:url';

export const BUNDLE = {
  configFile: false,
  logLevel: 'error',
  root: fileURLToPath(new URL('..', import.meta.url)),
  tsconfig: fileURLToPath(new URL('bundle.tsconfig.json', import.meta.url)),
};
