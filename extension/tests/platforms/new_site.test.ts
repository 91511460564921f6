/** One more site: one file and one line, and its pages are asked for, matched and read. */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';

import type * as Registry from '../../src/platforms';
import type * as Observation from '../../src/protocol/observation';

const WITHIN_MS = 300_000;
const MODULE = `
import { exactly, nonEmpty } from '../protocol/read';
import { addSite, notReady } from './base';

addSite({
  platform: 'FORUM',
  displayName: 'Forum',
  publishes: 'posts',
  domains: ['forum.example'],
  matches: ['https://forum.example/*'],
  metadata: exactly({ title: nonEmpty }),
  matchesUrl: (url) => url.hostname === 'forum.example',
  guess: (url) => url.pathname.slice(1) || null,
  *read() {
    return notReady('hydrating');
  },
});
`;

const folder = mkdtempSync(join(tmpdir(), 'openerrata-site-'));

beforeAll(() => {
  for (const name of ['src', 'public', 'package.json', 'wxt.config.ts', 'tsconfig.json']) {
    cpSync(name, join(folder, name), { recursive: true });
  }
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, 'src/platforms/forum.ts'), MODULE);
  const registry = join(folder, 'src/platforms/index.ts');
  const known = readFileSync(registry, 'utf8');
  writeFileSync(registry, known.replace("import './x';\n", "import './x';\nimport './forum';\n"));
});
afterAll(() => rmSync(folder, { recursive: true }));

it(
  'is in the manifest',
  () => {
    execFileSync(process.execPath, ['node_modules/wxt/bin/wxt.mjs', 'build'], { cwd: folder, stdio: 'pipe' });
    const manifest = JSON.parse(readFileSync(join(folder, '.output/chrome-mv3/manifest.json'), 'utf8')) as {
      readonly host_permissions: readonly string[];
      readonly content_scripts: readonly { readonly matches: readonly string[] }[];
    };
    expect(manifest.host_permissions).toContain('https://forum.example/*');
    expect(manifest.content_scripts[0]!.matches).toContain('https://forum.example/*');
  },
  WITHIN_MS,
);

it('is found by its address, and its content is accepted', async () => {
  const { siteFor } = (await import(join(folder, 'src/platforms/index.ts'))) as typeof Registry;
  const { readContent } = (await import(join(folder, 'src/protocol/observation.ts'))) as typeof Observation;
  expect(siteFor(new URL('https://forum.example/7'), {} as Document)?.displayName).toBe('Forum');
  const content = {
    platform: 'FORUM',
    externalId: '7',
    url: 'https://forum.example/7',
    contentText: 'Words.',
    mediaState: 'text_only',
    imageUrls: [],
    metadata: { title: 'On bread' },
  };
  expect(readContent(content, 'content')).toEqual(content);
});
