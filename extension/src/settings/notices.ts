/** Notices for the reader, each shown once: findings that they saw and that were taken back since. */

export const NOTICES_KEY = 'notices';

interface Area {
  get(keys: string[]): Promise<Record<string, unknown>>;
  remove(keys: string): Promise<void>;
}

/** The ids of findings that were taken back, as long as the reader has not put the notice away. */
export async function readNotices(area: Pick<Area, 'get'>): Promise<readonly string[]> {
  return ((await area.get([NOTICES_KEY]))[NOTICES_KEY] ?? []) as readonly string[];
}

/** What to store so that these are among the notices; nothing where there are none. */
export async function addNotices(area: Pick<Area, 'get'>, ids: readonly string[]): Promise<Record<string, unknown>> {
  return ids.length === 0 ? {} : { [NOTICES_KEY]: [...(await readNotices(area)), ...ids] };
}

/** The reader has read them. */
export async function dismissNotices(area: Pick<Area, 'remove'>): Promise<void> {
  await area.remove(NOTICES_KEY);
}
