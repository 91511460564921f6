// `npm run vectors -- DIR`: the recorded cases of a folder, in a real browser.
import { fileURLToPath } from 'node:url';
import { runnerImport } from 'vite';
import { BUNDLE } from './bundle.mjs';

const { module } = await runnerImport(fileURLToPath(new URL('main.ts', import.meta.url)), BUNDLE);
process.exitCode = await module.main(process.argv.slice(2));
