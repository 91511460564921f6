/** Exact numbers and dates in a text. Words in other languages than English and German are not read as months. */
import { LIMITS } from './given';
import { wellFormed } from './text';

/** Each figure is the set of its readings: `1.234` may be a thousand or a little more than one. */
export interface Figures {
  /** Full dates and numbers that say something exactly. */
  readonly exact: readonly ReadonlySet<string>[];
  /** Readings of all numbers and dates. */
  readonly all: ReadonlySet<string>;
  /** The last day of each date and year. */
  readonly lastDays: readonly string[];
}

const GAP = '[ \\u00a0\\u202f]+';
const YEAR = '([12][0-9]{3})(?![0-9])';
const DAY = '([0-9]{1,2})';
const MONTHS: ReadonlyMap<string, number> = new Map(
  LIMITS.months.flatMap((names, index) => names.map((name) => [name, index + 1] as const)),
);
const MONTH = `(${[...MONTHS.keys()].sort((one, other) => other.length - one.length).join('|')})`;
const ISO_DATE = new RegExp(`(?<![0-9.,])([12][0-9]{3})-${DAY}-${DAY}(?![0-9])`, 'g');
const NUMERIC_DATE = new RegExp(`(?<![0-9.,/])${DAY}([./])${DAY}\\2${YEAR}`, 'g');
const MONTH_FIRST = new RegExp(`(?<![a-z0-9])${MONTH}\\.?${GAP}${DAY}(?:st|nd|rd|th)?,?${GAP}${YEAR}`, 'g');
const DAY_FIRST = new RegExp(
  `(?<![0-9.,])${DAY}(?:st|nd|rd|th|\\.)?${GAP}(?:of${GAP})?${MONTH}\\.?,?${GAP}${YEAR}`,
  'g',
);
/** The currency signs of today; all but a few lie in one block. */
const SIGN = '[$¢-¥฿\u20a0-\u20cf]';
const GROUPED = "[0-9]{1,3}([ .,'’\\u00a0\\u202f])[0-9]{3}(?:\\2[0-9]{3})*(?:[.,][0-9]+)?(?![0-9])";
const NUMBER = new RegExp(
  `(?<![0-9])(?<![0-9][.,])(${SIGN} ?)?(?:${GROUPED}|[0-9]+(?:[.,][0-9]+)?)([ \\u00a0\\u202f]?(?:[%‰]|${SIGN}))?`,
  'g',
);

/** Find numbers and dates. */
export function findFigures(raw: string): Figures {
  const exact: ReadonlySet<string>[] = [];
  const all = new Set<string>();
  const lastDays: string[] = [];
  const keep = (found: string, days: string[]): string => {
    if (days.length === 0) return found;
    exact.push(new Set(days));
    for (const day of days) all.add(day);
    lastDays.push([...days].sort().at(-1)!);
    return '|';
  };
  const rest = wellFormed(raw)
    .toLowerCase()
    .replace(ISO_DATE, (found, year: string, month: string, day: string) => keep(found, readDays(year, [month, day])))
    .replace(NUMERIC_DATE, (found, one: string, mark: string, other: string, year: string) =>
      keep(found, mark === '.' ? readDays(year, [other, one]) : readDays(year, [other, one], [one, other])),
    )
    .replace(MONTH_FIRST, (found, month: string, day: string, year: string) =>
      keep(found, readDays(year, [month, day])),
    )
    .replace(DAY_FIRST, (found, day: string, month: string, year: string) => keep(found, readDays(year, [month, day])));
  for (const found of rest.matchAll(NUMBER)) {
    const [, before, separator, behind] = found;
    const words = found[0].slice(before?.length ?? 0, found[0].length - (behind?.length ?? 0));
    const readings = new Set(readNumber(words, separator));
    for (const reading of readings) all.add(reading);
    const isPlain = before === undefined && behind === undefined;
    if (!isPlain || words.replace(/[^0-9]/g, '').length >= 2) exact.push(readings);
    if (isPlain && /^[12][0-9]{3}$/.test(words)) lastDays.push(`${words}-12-31`);
  }
  return { exact, all, lastDays };
}

/** Whether a text is a day that the calendar has. */
export function isDay(text: string): boolean {
  if (!/^[12][0-9]{3}-[0-9]{2}-[0-9]{2}$/.test(text)) return false;
  const moment = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(moment.getTime()) && moment.toISOString().startsWith(text);
}

/** The day that lies `days` days before another. */
export function daysBefore(day: string, days: number): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) - days * 86_400_000).toISOString().slice(0, 10);
}

function readDays(year: string, ...pairs: readonly [month: string, day: string][]): string[] {
  const read = pairs.map(([month, day]) => {
    const number = MONTHS.get(month) ?? Number(month);
    return `${year}-${String(number).padStart(2, '0')}-${day.padStart(2, '0')}`;
  });
  return [...new Set(read.filter(isDay))];
}

function readNumber(words: string, separator: string | undefined): string[] {
  if (separator === undefined) return [plain(words.replace(',', '.'))];
  const groups = words.split(separator);
  const last = groups.at(-1)!;
  // Where the separator is a point or comma too, the last group may be a fraction: `1,234,5`.
  const isFraction = groups.length > 2 && /^[0-9]+$/.test(last) && last.length !== 3;
  const joined = isFraction ? `${groups.slice(0, -1).join('')}.${last}` : groups.join('').replace(',', '.');
  const readings = [plain(joined)];
  if (groups.length === 2 && /^[.,]$/.test(separator) && /^[0-9]{3}$/.test(last))
    readings.push(plain(groups.join('.')));
  return readings;
}

/** A number without leading and trailing zeros that do not matter. */
function plain(number: string): string {
  const [whole, fraction = ''] = number.split('.');
  const kept = fraction.replace(/0+$/, '');
  return whole!.replace(/^0+(?=[0-9])/, '') + (kept === '' ? '' : `.${kept}`);
}
