/** Print the page's HTML and the script that takes it over, as JSON; the page's properties are the argument. */
import { fileURLToPath } from 'node:url';

import { createElement } from 'react';
import { renderToString } from 'react-dom/server';
import { build } from 'vite';

import { Page } from './page.mjs';

const properties = JSON.parse(process.argv[2]);
const built = await build({
  configFile: false,
  logLevel: 'error',
  // React only says what differs where it is not built for production.
  mode: 'development',
  define: { 'process.env.NODE_ENV': '"development"' },
  build: {
    write: false,
    minify: false,
    rolldownOptions: { input: fileURLToPath(new URL('client.mjs', import.meta.url)), output: { format: 'iife' } },
  },
});
const html = `<!doctype html>${renderToString(createElement(Page, properties))}`;
process.stdout.write(JSON.stringify({ html, script: built.output[0].code }));
