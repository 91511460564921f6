// @vitest-environment happy-dom
import { describe, expect, it } from 'vitest';

import type { Underlines } from '../../src/page/highlights';
import { FindingNavigation } from '../../src/page/navigation';

function tour(...claimIds: string[]): FindingNavigation {
  return new FindingNavigation({} as Document, { claimIds, setCurrent: () => undefined } as unknown as Underlines);
}

/** A window of 700 pixels, in which words stand at `top` in an element of this height; where it is scrolled to find them. */
function locate(top: number, elementHeight: number): { at: number; smoothly: boolean } {
  const seen = { at: top, smoothly: false };
  const scroll = (by: number, behavior: ScrollBehavior | undefined): void => {
    seen.at -= by;
    seen.smoothly ||= behavior !== 'instant';
  };
  const parentElement = {
    closest: () => null,
    getBoundingClientRect: () => new DOMRect(0, 0, 500, elementHeight),
    scrollIntoView: ({ behavior }: ScrollIntoViewOptions) => scroll((elementHeight - 700) / 2, behavior),
  };
  const defaultView = {
    innerHeight: 700,
    matchMedia: () => ({ matches: false }),
    scrollBy: ({ top: by, behavior }: ScrollToOptions) => scroll(by!, behavior),
  };
  const range = { getBoundingClientRect: () => new DOMRect(0, seen.at, 300, 20) };
  const underlines = { piecesOf: () => [{ node: { parentElement }, range }], setCurrent: () => undefined };
  new FindingNavigation({ defaultView } as unknown as Document, underlines as unknown as Underlines).locate('a');
  return seen;
}

describe('the way from finding to finding', () => {
  it('begins at either end and wraps around', () => {
    expect([tour('a', 'b', 'c').next(1), tour('a', 'b', 'c').next(-1)]).toEqual(['a', 'c']);
    const last = tour('a', 'b', 'c');
    last.look('c');
    expect([last.next(1), last.next(-1)]).toEqual(['a', 'b']);
  });

  it('continues from the last one although none is current any more', () => {
    const left = tour('a', 'b', 'c');
    left.look('a');
    left.look(null);
    expect(left.next(1)).toBe('b');
  });

  it('leads nowhere where there is none', () => {
    expect(tour().next(1)).toBeNull();
    expect(tour().next(-1)).toBeNull();
  });

  it('ends with the words in sight, also where their paragraph is higher than the window', () => {
    expect(locate(300, 9_000)).toEqual({ at: 300, smoothly: false });
    expect(locate(800, 900)).toEqual({ at: 340, smoothly: false });
    expect(locate(8_000, 9_000)).toEqual({ at: 340, smoothly: false });
    expect(locate(800, 100)).toMatchObject({ smoothly: true });
  });
});
