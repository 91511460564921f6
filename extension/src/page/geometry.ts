/**
 * Where the in-page frame is put. Pure.
 *
 * Units: CSS pixels of the viewport, so everything fits at any zoom.
 */
import type { Size } from './frame_messages';

export interface Box {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

export interface Spot {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

const MARGIN = 12;
const GAP = 6;
const NARROWEST = 120;

/** What a view may take up at most. */
export function roomIn(viewport: Size): Size {
  return {
    width: Math.max(NARROWEST, viewport.width - 2 * MARGIN),
    height: Math.max(NARROWEST, viewport.height - 2 * MARGIN),
  };
}

/** Below the words, or above where there is more room; never over them while either side has enough. */
export function besideWords(words: Box, size: Size, viewport: Size): Spot {
  const { width, height } = fitted(size, viewport);
  const below = viewport.height - words.bottom - GAP - MARGIN;
  const above = words.top - GAP - MARGIN;
  const top = height <= below || below >= above ? words.bottom + GAP : words.top - GAP - height;
  return {
    left: between(MARGIN, words.left, viewport.width - width - MARGIN),
    top: between(MARGIN, top, viewport.height - height - MARGIN),
    width,
    height,
  };
}

/** In the corner where a reader's line ends. */
export function inCorner(size: Size, viewport: Size, rightToLeft: boolean): Spot {
  const { width, height } = fitted(size, viewport);
  return { left: rightToLeft ? MARGIN : Math.max(MARGIN, viewport.width - width - MARGIN), top: MARGIN, width, height };
}

/** Whether any of the words can be seen. */
export function inSight(words: Box, viewport: Size): boolean {
  return words.bottom > 0 && words.top < viewport.height && words.right > 0 && words.left < viewport.width;
}

function fitted(size: Size, viewport: Size): Size {
  const room = roomIn(viewport);
  return { width: Math.min(size.width, room.width), height: Math.min(size.height, room.height) };
}

function between(low: number, value: number, high: number): number {
  return Math.max(low, Math.min(value, high));
}
