/** `npm run lint:addons`: both built packages against scripts/package_rules.mjs; exits 1 with what is wrong. */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

import { complaintsOf, tooLarge, zippedBytes } from './package_rules.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const packages = ['chrome-mv3', 'firefox-mv3'].map((name) => join(root, '.output', name));
const missing = packages.filter((folder) => !existsSync(join(folder, 'manifest.json')));
if (missing.length > 0) {
  console.error(`not built yet, run npm run build: ${missing.map((folder) => relative(root, folder)).join(', ')}`);
  process.exit(2);
}

function lint(folder) {
  const linter = join(root, 'node_modules/addons-linter/bin/addons-linter');
  try {
    return JSON.parse(execFileSync(process.execPath, [linter, '--output', 'json', folder], { maxBuffer: 2 ** 28 }));
  } catch (error) {
    // It also exits with 1 when it has found errors; then its report says so.
    return JSON.parse(error.stdout);
  }
}

function filesBelow(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => [relative(folder, path), readFileSync(path)]);
}

const complaints = complaintsOf(lint(packages[1]));
for (const folder of packages) {
  const bytes = zippedBytes(filesBelow(folder));
  console.log(`${relative(root, folder)}: ${(bytes / 1024).toFixed(1)} KiB zipped`);
  const complaint = tooLarge(relative(root, folder), bytes);
  if (complaint !== null) complaints.push(complaint);
}
for (const complaint of complaints) console.error(complaint);
if (complaints.length === 0) console.log('addons-linter: no errors, no new warnings');
process.exit(complaints.length === 0 ? 0 : 1);
