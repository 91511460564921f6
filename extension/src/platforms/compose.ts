/**
 * NFC in linear time.
 *
 * Browsers sort combining marks by exchanging neighbours, so a text of half a megabyte of accents, which an author may
 * publish, would hold up its page for a minute. Long runs of marks are sorted here, which changes nothing of the result.
 */

const LONG_RUN = /\p{M}{64,}/gu;
const CHUNK = 64;
/** Marks of the lowest and of the highest class that is reordered. */
const LOWEST = '\u0334';
const HIGHEST = '\u0345';

/** Normalise to NFC. */
export function compose(raw: string): string {
  return raw.replace(LONG_RUN, sortMarks).normalize('NFC');
}

function sortMarks(run: string): string {
  const sorted: string[] = [];
  const waiting = new Map<string, string[]>();
  const release = (): void => {
    for (const name of [...waiting.keys()].sort(compareClasses)) sorted.push(waiting.get(name)!.join(''));
    waiting.clear();
  };
  for (const mark of decompose(run)) {
    const name = classOf(mark);
    if (name === null) {
      release();
      sorted.push(mark);
    } else if (waiting.has(name)) waiting.get(name)!.push(mark);
    else waiting.set(name, [mark]);
  }
  release();
  return sorted.join('');
}

function* decompose(run: string): Generator<string> {
  const marks = Array.from(run);
  for (let at = 0; at < marks.length; at += CHUNK)
    yield* marks
      .slice(at, at + CHUNK)
      .join('')
      .normalize('NFD');
}

const classes: string[] = [];
const known = new Map<string, string | null>();

/** A mark that names the class of this one; null if it is never reordered. */
function classOf(mark: string): string | null {
  const name = known.get(mark);
  if (name !== undefined) return name;
  const found = isReordered(mark) ? (classes.find((each) => compareClasses(each, mark) === 0) ?? mark) : null;
  if (found === mark) classes.push(mark);
  known.set(mark, found);
  return found;
}

function isReordered(mark: string): boolean {
  return swaps(HIGHEST, mark) || swaps(mark, LOWEST);
}

function compareClasses(one: string, other: string): number {
  return swaps(other, one) ? -1 : swaps(one, other) ? 1 : 0;
}

function swaps(first: string, second: string): boolean {
  return (first + second).normalize('NFD') !== first + second;
}
