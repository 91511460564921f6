import { describe, expect, it } from 'vitest';

import type { Underlines } from '../../src/page/highlights';
import { FindingNavigation } from '../../src/page/navigation';

function tour(...claimIds: string[]): FindingNavigation {
  return new FindingNavigation({} as Document, { claimIds, setCurrent: () => undefined } as unknown as Underlines);
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
});
