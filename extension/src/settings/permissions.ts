/** Which addresses the settings ask the browser for, and which of them nothing needs any more. Pure. */
import { serverAddress } from './address';
import { engineAddress, modelAddress } from './checks';
import type { Settings } from './settings';
import { sitePattern, wantedHosts } from './sites';

/** The patterns of the model and the search that a reader has chosen. */
export function checkPatterns(settings: Settings): string[] {
  return [modelAddress(settings), engineAddress(settings)].flatMap((address) => address?.pattern ?? []);
}

/** What was asked for checks before and is no longer needed by anything. */
export function patternsToGiveBack(before: Settings, after: Settings): string[] {
  const needed = [
    ...checkPatterns(after),
    serverAddress(after.apiBaseUrl).pattern,
    ...wantedHosts(after).map((host) => sitePattern(host)),
  ];
  return checkPatterns(before).filter((pattern) => !needed.includes(pattern));
}
