/**
 * NFC in linear time.
 *
 * Browsers sort combining marks by exchanging neighbours, so a text of half a megabyte of accents, which an author may
 * publish, would hold up its page for a minute. Long runs of marks are sorted here, which changes nothing of the result.
 */

/** Normalise to NFC. */
export function compose(raw: string): string {
  return raw.replace(/\p{M}{64,}/gu, sortMarks).normalize('NFC');
}

function sortMarks(run: string): string {
  let sorted = '';
  const classes: string[][] = [];
  const classOf = new Map<string, string[]>();
  const release = (): void => {
    sorted += classes
      .sort(([one], [other]) => (swaps(one!, other!) ? 1 : -1))
      .flat()
      .join('');
    classes.length = 0;
    classOf.clear();
  };
  for (const mark of run.match(/.{1,64}/gu)!.flatMap((part) => Array.from(part.normalize('NFD')))) {
    let marks = classOf.get(mark);
    if (marks === undefined && isReordered(mark)) {
      marks = classes.find(([one]) => !swaps(one!, mark) && !swaps(mark, one!));
      if (marks === undefined) classes.push((marks = []));
      classOf.set(mark, marks);
    }
    if (marks === undefined) {
      release();
      sorted += mark;
    } else marks.push(mark);
  }
  release();
  return sorted;
}

/** Whether a mark of the highest or of the lowest class changes places with it. */
function isReordered(mark: string): boolean {
  return swaps('\u0345', mark) || swaps(mark, '\u0334');
}

function swaps(first: string, second: string): boolean {
  return (first + second).normalize('NFD') !== first + second;
}
