/**
 * Runs every file of recorded cases in a folder and reports what passed.
 *
 * Exit codes: 0 all passed, 1 some failed, 2 there was nothing to run.
 */

import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Chromium, NoChromium } from './chromium';
import { RULES, type Rule } from './differences';
import { judgeAll, kindOf, type Case, type Verdict } from './kinds';

const SHOWN_FAILURES = 10;

interface CaseFile {
  name: string;
  cases: Case[];
}

/** Rules that explained differences, each with the cases it explained. */
type Used = Map<Rule, string[]>;

export class BadFolder extends Error {}

/** Run a folder. A `shared` browser is left open; without one, one of its own is started. */
export async function main(
  args: readonly string[],
  print: (line: string) => void = console.log,
  shared?: Chromium,
): Promise<number> {
  let files: (CaseFile | BadFolder)[];
  let chromium: Chromium;
  try {
    files = readFolder(args);
    chromium = shared ?? (await Chromium.start());
  } catch (error) {
    if (!(error instanceof BadFolder || error instanceof NoChromium)) throw error;
    print(`vectors: ${error.message}`);
    return 2;
  }
  let failed = false;
  const used: Used = new Map();
  try {
    for (const file of files) {
      if (file instanceof BadFolder) {
        print(`vectors: ${file.message}`);
        failed = true;
        continue;
      }
      const { name, cases } = file;
      const kind = kindOf(name);
      if (kind === null) {
        print(`${name.padEnd(22)} not run here (${cases.length} cases)`);
        continue;
      }
      const verdicts = await judgeAll(kind, chromium, cases);
      failed ||= verdicts.some((one) => !one.passed);
      for (const { id, rules } of verdicts) {
        for (const rule of new Set(rules)) used.set(rule, [...(used.get(rule) ?? []), id]);
      }
      for (const line of report(name, verdicts)) print(line);
    }
  } finally {
    if (shared === undefined) await chromium.close();
  }
  for (const [rule, ids] of used) print(`  ${rule}: ${RULES[rule]} (${ids.join(', ')})`);
  return failed ? 1 : 0;
}

export function report(name: string, verdicts: readonly Verdict[]): string[] {
  const failing = verdicts.filter((one) => !one.passed);
  const ruled = verdicts.filter((one) => one.rules.length > 0);
  const rules = [...new Set(ruled.flatMap((one) => one.rules))].join(', ');
  const note = ruled.length > 0 ? `  (${ruled.length} decided by: ${rules})` : '';
  const lines = [`${name.padEnd(22)} ${verdicts.length - failing.length}/${verdicts.length}${note}`];
  if (failing.length > 0) {
    const more = failing.length > SHOWN_FAILURES ? ` and ${failing.length - SHOWN_FAILURES} more` : '';
    const shown = failing.slice(0, SHOWN_FAILURES);
    lines.push(`  first failing: ${shown.map((one) => one.id).join(', ')}${more}`);
    for (const { id, error } of shown) if (error !== undefined) lines.push(`    ${id}: ${error}`);
  }
  return lines;
}

/** Every file of the folder; one that cannot be read stands as what is wrong with it. */
function readFolder(args: readonly string[]): (CaseFile | BadFolder)[] {
  const [folder] = args;
  if (folder === undefined || args.length > 1) throw new BadFolder('usage: npm run vectors -- DIR');
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) throw new BadFolder(`${folder} is no folder`);
  const names = readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .sort();
  const files = names.map((name) => readCases(join(folder, name)));
  if (!files.some((file) => !(file instanceof BadFolder) && kindOf(file.name) !== null)) {
    throw (
      files.find((file) => file instanceof BadFolder) ?? new BadFolder(`${folder} holds no file of cases we can run`)
    );
  }
  return files;
}

function readCases(path: string): CaseFile | BadFolder {
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    return new BadFolder(`${path} is not JSON: ${(error as Error).message}`);
  }
  const { name, cases } = (value ?? {}) as Partial<CaseFile>;
  const isFile =
    typeof name === 'string' &&
    Array.isArray(cases) &&
    cases.every((one) => typeof (one as Case | null)?.id === 'string');
  if (isFile) return { name, cases };
  return new BadFolder(`${path} is no file of cases: {"name", "cases": [{"id", "input", "output"}]}`);
}
