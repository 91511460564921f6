/**
 * The manifest and the build of both packages.
 *
 * Least privilege is decided here: at installation only the four sites; every other address is asked for by
 * `permissions.request` at the moment a reader wants it. A permission added here reaches every reader as a warning.
 */
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

/** `marked` is one file whose default instance keeps its parser and renderers in; only the lexer is used here. */
const lexerOnly = {
  name: 'lexer-only',
  transform: {
    filter: { id: /\/marked\.esm\.js$/ },
    handler(code: string) {
      const instance = /var (\w+)=new \w+;function \w+\(\w+,\w+\)\{return \1\.parse\(/.exec(code);
      const lexer = /export\{.*?\b(\w+) as Lexer\b/.exec(code);
      if (instance === null || lexer === null) throw new Error('marked is laid out anew: adapt lexerOnly');
      return { code: `${code.slice(0, instance.index)}export { ${lexer[1]} as Lexer };`, map: null };
    },
  },
};

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
  vite: () => ({
    plugins: [lexerOnly],
    resolve: { alias: { 'wxt/utils/content-script-context': resolve('src/page/no_context.ts') } },
    build: {
      cssTarget: [`chrome${OLDEST.chrome}`, `firefox${OLDEST.firefox}`],
      modulePreload: { polyfill: false },
      rolldownOptions: { output: { codeSplitting: { groups: CHUNKS } } },
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
    icons: { 16: 'icons/16.png', 32: 'icons/32.png', 48: 'icons/48.png', 128: 'icons/128.png' },
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
