/** A site is one file and one line of the registry; everything else derives from them. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { INSTALL_HOSTS } from '../../src/hosts';
import { SITES } from '../../src/platforms';
import { readPlatform } from '../../src/protocol/observation';
import { isBuiltIn, siteOf } from '../../src/settings/sites';

const REGISTRY = 'src/platforms/index.ts';
const LINE = /^import '\.\/(\w+)';$/gm;
/** In the order of `SITES`. */
const modules = [...readFileSync(REGISTRY, 'utf8').matchAll(LINE)].map((line) => line[1]!);

/** What would tell a site from others; a name as short as one letter counts as a whole word only. */
function patterns({ platform, displayName, domains }: (typeof SITES)[number]): RegExp[] {
  return [platform, displayName, ...domains].map((name) => {
    const literal = name.replaceAll('.', '\\.');
    return name.length > 2 ? new RegExp(literal, 'i') : new RegExp(`\\b${literal}\\b`);
  });
}

/** It lists hosts of sources, whether the extension reads those sites or not. */
const NAMED_ELSEWHERE = ['src/verdict/given.ts', 'src/feeds/base.ts', 'src/feeds/index.ts'];

/** Files that may not name this module's site, with their text. */
function foreignFiles(module: string): (readonly [string, string])[] {
  const own = new RegExp(`^src/(?:platforms|feeds)/${module}(_\\w+)?\\.ts$`);
  const paths = ['src', 'public/_locales'].flatMap((folder) =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name)),
  );
  return [...paths, 'wxt.config.ts']
    .filter((path) => !own.test(path) && !NAMED_ELSEWHERE.includes(path))
    .map((path) => [path, readFileSync(path, 'utf8').replaceAll(path === REGISTRY ? LINE : /$^/g, '')] as const);
}

describe('the registry of sites', () => {
  it('has one line for each site', () => expect(modules).toHaveLength(SITES.length));

  it.each(SITES.map((site, index) => [site.displayName, site, modules[index]!] as const))(
    'is the only place outside its own files that names %s',
    (_, site, module) => {
      const naming = foreignFiles(module).flatMap(([path, text]) =>
        patterns(site).some((pattern) => pattern.test(text)) ? [path] : [],
      );
      expect(naming).toEqual([]);
    },
  );

  it.each(SITES.map((site) => [site.displayName, site] as const))('decides where %s is read', (_, site) => {
    for (const pattern of site.matches) {
      expect(pattern).toMatch(/^https:\/\/(?:\*\.)?[a-z0-9.-]+\.[a-z]+\/\*$/);
      expect(INSTALL_HOSTS).toContain(pattern);
      const url = pattern.replace('*.', 'sub.').replace('/*', '/page');
      expect([isBuiltIn(url), siteOf(url)]).toEqual([true, site.domains[0]]);
    }
    if (site.matches.length === 0) expect(isBuiltIn(`https://${site.domains[0]}/page`)).toBe(false);
    expect(readPlatform(site.platform, 'platform')).toBe(site.platform);
  });
});
