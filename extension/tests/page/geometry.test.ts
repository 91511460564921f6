import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { besideWords, inCorner, inSight, roomIn, type Spot } from '../../src/page/geometry';
import { luminanceOf } from '../../src/page/ground';

const viewport = { width: 1000, height: 800 };

function words(left: number, top: number) {
  return { left, top, right: left + 80, bottom: top + 20 };
}

describe('the tooltip', () => {
  it('stands below the words, else above', () => {
    expect(besideWords(words(100, 100), { width: 200, height: 100 }, viewport)).toMatchObject({ left: 100, top: 126 });
    expect(besideWords(words(100, 700), { width: 200, height: 100 }, viewport)).toMatchObject({ left: 100, top: 594 });
  });

  it('fits into every window and leaves the words free where there is room', () => {
    const side = fc.integer({ min: 200, max: 2000 });
    const size = fc.record({ width: fc.integer({ min: 1, max: 3000 }), height: fc.integer({ min: 1, max: 3000 }) });
    fc.assert(
      fc.property(side, side, size, fc.nat(2000), fc.nat(2000), (width, height, wanted, x, y) => {
        const window = { width, height };
        const at = words(x % width, y % height);
        const inside = (spot: Spot): boolean =>
          spot.left >= 0 && spot.top >= 0 && spot.left + spot.width <= width && spot.top + spot.height <= height;
        const spot = besideWords(at, wanted, window);
        expect(inside(spot)).toBe(true);
        expect(inside(inCorner(wanted, window, x % 2 === 0))).toBe(true);
        if (wanted.height <= height - at.bottom - 20) expect(spot.top).toBeGreaterThanOrEqual(at.bottom);
      }),
    );
  });
});

it('the panel stands where a line ends', () => {
  const size = { width: 300, height: 400 };
  expect(inCorner(size, viewport, false).left).toBe(688);
  expect(inCorner(size, viewport, true).left).toBe(12);
  expect(roomIn({ width: 160, height: 90 })).toEqual({ width: 136, height: 120 });
});

it('words out of the window are out of sight', () => {
  expect(inSight(words(0, 0), viewport)).toBe(true);
  expect(inSight(words(0, -21), viewport)).toBe(false);
  expect(inSight(words(0, 800), viewport)).toBe(false);
});

it.each([
  ['rgb(255, 255, 255)', 1],
  ['rgb(0, 0, 0)', 0],
  ['rgba(0, 0, 0, 0)', null],
  ['rgba(20, 20, 20, 0.9)', 0.007],
  ['rgb(16 20 24 / 95%)', 0.007],
  ['color(display-p3 0 0 0)', null],
  ['transparent', null],
])('%s has luminance %s', (colour, luminance) => {
  if (luminance === null) expect(luminanceOf(colour)).toBeNull();
  else expect(luminanceOf(colour)).toBeCloseTo(luminance, 2);
});
