// @vitest-environment happy-dom
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import {
  boundingBox,
  placeBesideSentence,
  placeButton,
  type Box,
  placeInCorner,
  isOnScreen,
  availableSize,
  type Placement,
} from '../../src/page/geometry';
import { luminanceOf } from '../../src/page/background_tone';

const viewport = { width: 1000, height: 800 };

function words(left: number, top: number) {
  return { left, top, right: left + 80, bottom: top + 20 };
}

describe('the tooltip', () => {
  it('stands below the words, else above', () => {
    const beside = (at: Box) => placeBesideSentence(at, at, { width: 200, height: 100 }, viewport);
    expect(beside(words(100, 100))).toMatchObject({ left: 100, top: 126 });
    expect(beside(words(100, 700))).toMatchObject({ left: 100, top: 594 });
  });

  it('stands on the side with more room where neither has enough', () => {
    const beside = (at: Box) => placeBesideSentence(at, at, { width: 200, height: 690 }, viewport);
    expect(beside(words(100, 100))).toMatchObject({ left: 100, top: 98 });
    expect(beside(words(100, 680))).toMatchObject({ left: 100, top: 12 });
  });

  it('covers no other line of the sentence either, where there is room', () => {
    const [first, last] = [words(600, 100), words(20, 160)];
    const size = { width: 200, height: 100 };
    const sentence = boundingBox([first, words(20, 130), last])!;
    expect(sentence).toEqual({ left: 20, top: 100, right: 680, bottom: 180 });
    expect(placeBesideSentence(first, sentence, size, viewport)).toMatchObject({ left: 600, top: 186 });
    const endless = { ...sentence, bottom: 790 };
    expect(placeBesideSentence(first, endless, size, viewport)).toMatchObject({ left: 600, top: 126 });
    expect(boundingBox([])).toBeNull();
  });

  it('fits into every window and leaves the words free where there is room', () => {
    const side = fc.integer({ min: 200, max: 2000 });
    const size = fc.record({ width: fc.integer({ min: 1, max: 3000 }), height: fc.integer({ min: 1, max: 3000 }) });
    fc.assert(
      fc.property(side, side, size, fc.nat(2000), fc.nat(2000), (width, height, wanted, x, y) => {
        const window = { width, height };
        const at = words(x % width, y % height);
        const inside = (spot: Placement): boolean =>
          spot.left >= 0 && spot.top >= 0 && spot.left + spot.width <= width && spot.top + spot.height <= height;
        const spot = placeBesideSentence(at, at, wanted, window);
        expect(inside(spot)).toBe(true);
        expect(inside(placeInCorner(wanted, window, x % 2 === 0, at))).toBe(true);
        if (wanted.height <= height - at.bottom - 20) expect(spot.top).toBeGreaterThanOrEqual(at.bottom);
      }),
    );
  });
});

it('the panel stands where a line ends', () => {
  const size = { width: 300, height: 400 };
  expect(placeInCorner(size, viewport, false, null)).toMatchObject({ left: 688, top: 12 });
  expect(placeInCorner(size, viewport, true, null)).toMatchObject({ left: 12, top: 12 });
  expect(availableSize({ width: 160, height: 90 })).toEqual({ width: 136, height: 120 });
});

it('the panel does not cover the words that it is about', () => {
  const size = { width: 300, height: 300 };
  expect(placeInCorner(size, viewport, false, words(700, 100))).toMatchObject({ left: 688, top: 488 });
  expect(placeInCorner(size, viewport, false, words(700, 600))).toMatchObject({ left: 688, top: 12 });
  expect(placeInCorner({ width: 300, height: 770 }, viewport, false, words(700, 100))).toMatchObject({ left: 12 });
  const wide = { left: 100, top: 100, right: 700, bottom: 200 };
  expect(placeInCorner({ width: 600, height: 770 }, viewport, false, wide)).toMatchObject({ left: 388 });
  expect(placeInCorner({ width: 600, height: 770 }, viewport, false, { ...wide, right: 950 })).toMatchObject({
    left: 12,
  });
});

it('words out of the window are out of sight', () => {
  expect(isOnScreen(words(0, 0), viewport)).toBe(true);
  expect(isOnScreen(words(0, -21), viewport)).toBe(false);
  expect(isOnScreen(words(0, 800), viewport)).toBe(false);
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

describe('the button of a post', () => {
  it.each([
    ['after it', 700, false, 706],
    ['within it where the window ends', 990, false, 952],
    ['before it where lines run to the left', 700, true, 62],
  ])('stands %s', (_, right, rightToLeft, left) => {
    const post = { left: 100, top: 50, right, bottom: 300 };
    expect(placeButton(post, 32, viewport, rightToLeft)).toEqual({ left, top: 56 });
  });

  it('stands within a post at the left edge where lines run to the left', () => {
    expect(placeButton({ left: 10, top: 50, right: 700, bottom: 300 }, 32, viewport, true)).toEqual({
      left: 16,
      top: 56,
    });
  });
});
