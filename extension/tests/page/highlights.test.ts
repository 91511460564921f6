// @vitest-environment happy-dom
import { beforeEach, describe, expect, it } from 'vitest';

import { Underlines, type Registry } from '../../src/page/highlights';
import { piecesOf } from '../../src/page/ranges';
import { walk } from '../../src/page/walk';

/** A registry as the page shares it: everybody may empty it. */
class Shared extends Map<string, Highlight> implements Registry {}

function underlines(): { registry: Shared; underlines: Underlines } {
  const registry = new Shared();
  const made = new Underlines(registry, (ranges) => new Set(ranges) as unknown as Highlight);
  return { registry, underlines: made };
}

function words(registry: Shared): Record<string, string[]> {
  return Object.fromEntries([...registry].map(([name, ranges]) => [name, [...ranges].map(String)]));
}

let pieces: Map<string, NonNullable<ReturnType<typeof piecesOf>>>;

beforeEach(() => {
  document.body.innerHTML = '<article><p>one two</p><p>three</p></article>';
  const walked = walk(document.querySelector('article')!, () => false);
  pieces = new Map([
    ['a', piecesOf(walked, 0, 3)!],
    ['b', piecesOf(walked, 4, 12)!],
  ]);
});

describe('underlines', () => {
  it('are one highlight for the tone, and leave the page as it was', () => {
    const before = document.documentElement.outerHTML;
    const { registry, underlines: made } = underlines();
    made.show(pieces);
    expect(words(registry)).toEqual({ 'aside-day': ['one', 'two', 'three'] });
    made.setTone('dark');
    expect(words(registry)).toEqual({ 'aside-night': ['one', 'two', 'three'] });
    expect(document.documentElement.outerHTML).toBe(before);
  });

  it('mark the one being looked at', () => {
    const { registry, underlines: made } = underlines();
    made.show(pieces);
    made.setCurrent('b');
    expect(words(registry)['aside-here']).toEqual(['two', 'three']);
    made.setCurrent(null);
    expect(Object.keys(words(registry))).toEqual(['aside-day']);
  });

  it('hide and come back', () => {
    const { registry, underlines: made } = underlines();
    made.show(pieces);
    made.setVisible(false);
    expect(registry.size).toBe(0);
    expect(made.findingsIn(pieces.get('a')![0]!.node)).toEqual([]);
    made.setVisible(true);
    expect(words(registry)['aside-day']).toHaveLength(3);
  });

  it('are put back when the page clears, replaces or empties them, and only then', () => {
    const { registry, underlines: made } = underlines();
    made.show(pieces);
    expect(made.restore()).toBe(false);
    for (const damage of [
      () => registry.clear(),
      () => registry.set('aside-day', new Set() as unknown as Highlight),
      () => registry.get('aside-day')!.clear(),
    ]) {
      damage();
      expect(made.restore()).toBe(true);
      expect(words(registry)['aside-day']).toEqual(['one', 'two', 'three']);
    }
  });

  it('touch no highlight of the page', () => {
    const { registry, underlines: made } = underlines();
    const theirs = new Set<AbstractRange>() as unknown as Highlight;
    registry.set('search-hits', theirs);
    made.show(pieces);
    made.clear();
    expect([...registry]).toEqual([['search-hits', theirs]]);
  });

  it('know when the page no longer shows their words', () => {
    const { underlines: made } = underlines();
    made.show(pieces);
    expect(made.prune()).toBe(true);
    document.querySelector('p')!.innerHTML = 'one two';
    expect(made.prune()).toBe(false);
  });

  it('go when a part of their words is another', () => {
    const { registry, underlines: made } = underlines();
    made.show(pieces);
    document.querySelector('p:last-child')!.firstChild!.nodeValue = 'four!';
    expect(made.prune()).toBe(false);
    expect(words(registry)).toEqual({ 'aside-day': ['one'] });
  });

  it('know which finding has words in a node', () => {
    const { underlines: made } = underlines();
    made.show(pieces);
    const [shared] = pieces.get('a')!;
    expect(made.findingsIn(shared!.node).map(({ claimId }) => claimId)).toEqual(['a', 'b']);
  });

  it('put the shorter of two findings first, however many nodes they reach into', () => {
    const { underlines: made } = underlines();
    const [two, three] = pieces.get('b')!;
    made.show(new Map([...pieces, ['c', [three!]], ['d', [two!]]]));
    expect(made.findingsIn(three!.node).map(({ claimId }) => claimId)).toEqual(['c', 'b']);
    expect(made.findingsIn(two!.node).map(({ claimId }) => claimId)).toEqual(['a', 'd', 'b']);
    expect(made.claimIds).toEqual(['a', 'b', 'c', 'd']);
  });
});
