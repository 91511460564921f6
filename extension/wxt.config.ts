/**
 * The manifest and the build of both packages.
 *
 * Least privilege is decided here: at installation only the four sites; every other address is asked for by
 * `permissions.request` at the moment a reader wants it. A permission added here reaches every reader as a warning.
 */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

import { defineConfig } from 'wxt';
import { FRAME_HOSTS, INSTALL_HOSTS, OPTIONAL_HOSTS } from './src/hosts';

/** Browsers that have all that is used. */
const OLDEST = { chrome: 137, firefox: 146 };

// `frame-ancestors` must stay open to https, or the in-page interface would be refused inside the pages it is for.
// `http:` is needed for self-hosted servers on a private network; src/settings/address.ts decides which are allowed.
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  'connect-src https: http:',
  "base-uri 'none'",
  "form-action 'none'",
  'frame-ancestors https:',
].join('; ');

/** One file of a library, changed while it is built; it has to be looked at again when it is laid out anew. */
function changed(name: string, id: RegExp, change: (code: string) => string | null) {
  const handler = (code: string) => {
    const result = change(code);
    if (result === null || result === code) throw new Error(`${name}: the library is laid out anew`);
    return { code: result, map: null };
  };
  return { name, transform: { filter: { id }, handler } };
}

/** Of `marked` only the lexer is used, as it is set at first; its default instance would keep parser and renderers in. */
const lexerOnly = changed('lexer-only', /\/marked\.esm\.js$/, (code) => {
  const instance = /var (\w+)=new \w+;function \w+\(\w+,\w+\)\{return \1\.parse\(/.exec(code);
  const lexer = /export\{.*?\b(\w+) as Lexer\b/.exec(code);
  if (instance === null || lexer === null) return null;
  const kept = code.slice(0, instance.index);
  const fixed = kept.replaceAll('this.options.pedantic', 'false').replaceAll('this.options.extensions', 'null');
  return `${fixed}export { ${lexer[1]} as Lexer };`;
});

/** No page of ours comes from a server with its content already in it. */
const neverHydrated = changed('never-hydrated', /\/svelte\/src\/internal\/client\/dom\/hydration\.js$/, (code) =>
  code.includes('\thydrating = value;\n')
    ? code
        .replace('export let hydrating = false', 'export const hydrating = false')
        .replace('\thydrating = value;\n', '')
    : null,
);

/** Two chunks are shared: what the worker loads as well, and what only pages show. Smaller ones compress worse. */
const CHUNKS = [
  {
    name: 'shared',
    test: /^(?!.*(?:\/node_modules\/(?:svelte|marked|clsx)\/|\/src\/ui\/|\.svelte|\.css))/,
    minShareCount: 2,
  },
  { name: 'ui', minShareCount: 2 },
];

export default defineConfig({
  srcDir: 'src',
  hooks: {
    // A package is replaced as a whole, so no file needs a name that changes with its content.
    'vite:build:extendConfig'(entrypoints, { build }) {
      if (entrypoints.length === 1) return;
      Object.assign(build!.rolldownOptions!.output!, {
        entryFileNames: ({ name }: { name: string }) => (name === 'background' ? '[name].js' : 'chunks/[name].js'),
        chunkFileNames: 'chunks/[name].js',
        assetFileNames: 'assets/[name].[ext]',
      });
    },
    // Messages without the white space that is for translators.
    'build:publicAssets'(_, files) {
      for (const [index, file] of files.entries()) {
        if (!('absoluteSrc' in file) || !file.relativeDest.endsWith('messages.json')) continue;
        const messages: unknown = JSON.parse(readFileSync(file.absoluteSrc, 'utf8'));
        files[index] = { relativeDest: file.relativeDest, contents: JSON.stringify(messages) };
      }
    },
  },
  vite: () => ({
    plugins: [lexerOnly, neverHydrated],
    resolve: { alias: { 'wxt/utils/content-script-context': resolve('src/page/no_context.ts') } },
    build: {
      cssTarget: [`chrome${OLDEST.chrome}`, `firefox${OLDEST.firefox}`],
      modulePreload: { polyfill: false },
      rolldownOptions: {
        treeshake: { propertyReadSideEffects: false, unknownGlobalSideEffects: false },
        output: { codeSplitting: { groups: CHUNKS } },
      },
    },
  }),
  modules: ['@wxt-dev/module-svelte'],
  manifestVersion: 3,
  imports: false,
  webExt: { disabled: true },
  zip: { excludeSources: ['.*/**', 'node_modules/**', 'test-results/**'] },
  manifest: ({ browser }) => ({
    name: '__MSG_extName__',
    description: '__MSG_extDescription__',
    default_locale: 'en',
    icons: { 16: 'icons/16.png', 32: 'icons/32.png', 128: 'icons/128.png' },
    action: { default_title: '__MSG_extName__', default_icon: { 16: 'icons/16.png', 32: 'icons/32.png' } },
    permissions: ['storage', 'alarms', 'scripting', 'activeTab', ...(browser === 'firefox' ? [] : ['offscreen'])],
    host_permissions: [...INSTALL_HOSTS],
    optional_host_permissions: [...OPTIONAL_HOSTS],
    commands: {
      'next-finding': {
        suggested_key: { default: 'Alt+Shift+Period' },
        description: '__MSG_commandNextFinding__',
      },
      'previous-finding': {
        suggested_key: { default: 'Alt+Shift+Comma' },
        description: '__MSG_commandPreviousFinding__',
      },
      'toggle-highlights': { description: '__MSG_commandToggleHighlights__' },
      'check-post': { description: '__MSG_commandCheckPost__' },
    },
    content_security_policy: { extension_pages: CONTENT_SECURITY_POLICY },
    web_accessible_resources: [{ resources: ['frame.html'], matches: [...FRAME_HOSTS], use_dynamic_url: true }],
    ...(browser === 'firefox'
      ? {
          browser_specific_settings: {
            gecko: {
              id: 'openerrata@openerrata.com',
              strict_min_version: `${OLDEST.firefox}.0`,
              data_collection_permissions: { required: ['websiteContent', 'browsingActivity'] },
            },
          },
        }
      : { minimum_chrome_version: `${OLDEST.chrome}` }),
  }),
});
