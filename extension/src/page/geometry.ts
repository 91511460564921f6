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

export interface Placement {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

const MARGIN = 12;
const GAP = 6;
const NARROWEST = 120;

/** What a view may take up at most. */
export function availableSize(viewport: Size): Size {
  return {
    width: Math.max(NARROWEST, viewport.width - 2 * MARGIN),
    height: Math.max(NARROWEST, viewport.height - 2 * MARGIN),
  };
}

/** The box that encloses all of these; null if there are none. */
export function boundingBox(boxes: readonly Box[]): Box | null {
  return boxes.reduce<Box | null>(
    (all, { left, top, right, bottom }) =>
      all === null
        ? { left, top, right, bottom }
        : {
            left: Math.min(all.left, left),
            top: Math.min(all.top, top),
            right: Math.max(all.right, right),
            bottom: Math.max(all.bottom, bottom),
          },
    null,
  );
}

/**
 * Below the sentence, or above where there is more room; never over it while either side has enough. A sentence that
 * leaves no room on either side is covered in part, but not in the line that the reader looks at.
 */
export function placeBesideSentence(line: Box, sentence: Box, size: Size, viewport: Size): Placement {
  const { width, height } = fitToViewport(size, viewport);
  const below = (words: Box): number => viewport.height - words.bottom - GAP - MARGIN;
  const above = (words: Box): number => words.top - GAP - MARGIN;
  const words = height <= Math.max(below(sentence), above(sentence)) ? sentence : line;
  const isBelow = height <= below(words) || below(words) >= above(words);
  const top = isBelow ? words.bottom + GAP : words.top - GAP - height;
  return {
    left: clamp(MARGIN, line.left, viewport.width - width - MARGIN),
    top: clamp(MARGIN, top, viewport.height - height - MARGIN),
    width,
    height,
  };
}

/** In the corner where a reader's line ends, or in the first other one that covers less of the words. */
export function placeInCorner(size: Size, viewport: Size, rightToLeft: boolean, words: Box | null): Placement {
  const { width, height } = fitToViewport(size, viewport);
  const right = Math.max(MARGIN, viewport.width - width - MARGIN);
  const bottom = Math.max(MARGIN, viewport.height - height - MARGIN);
  const corners = (rightToLeft ? [MARGIN, right] : [right, MARGIN]).flatMap((left) =>
    [MARGIN, bottom].map((top) => ({ left, top, width, height })),
  );
  return corners.reduce((best, one) => (overlapArea(one, words) < overlapArea(best, words) ? one : best));
}

/** How much of the words lies under a place. */
function overlapArea({ left, top, width, height }: Placement, words: Box | null): number {
  if (words === null) return 0;
  const across = Math.min(left + width, words.right) - Math.max(left, words.left);
  const down = Math.min(top + height, words.bottom) - Math.max(top, words.top);
  return Math.max(0, across) * Math.max(0, down);
}

/** Whether any of the words can be seen. */
export function isOnScreen(words: Box, viewport: Size): boolean {
  return words.bottom > 0 && words.top < viewport.height && words.right > 0 && words.left < viewport.width;
}

function fitToViewport(size: Size, viewport: Size): Size {
  const room = availableSize(viewport);
  return { width: Math.min(size.width, room.width), height: Math.min(size.height, room.height) };
}

function clamp(low: number, value: number, high: number): number {
  return Math.max(low, Math.min(value, high));
}

/** A card is not narrower than this where the window allows it, nor wider than that. */
const CARD_NARROWEST = 320;
const CARD_WIDEST = 600;

/** Under its post, as wide as it. */
export function placeUnder(post: Box, height: number, viewport: Size): Placement {
  const most = availableSize(viewport).width;
  const width = Math.min(most, Math.max(CARD_NARROWEST, Math.min(CARD_WIDEST, post.right - post.left)));
  return { left: clamp(MARGIN, post.left, viewport.width - width - MARGIN), top: post.bottom + GAP, width, height };
}

/** Where the button of a post goes, in the window: outside at its end, or within it where there is no room. */
export function placeButton(
  post: Box,
  side: number,
  viewport: Size,
  rightToLeft: boolean,
): { left: number; top: number } {
  const top = post.top + GAP;
  if (rightToLeft) return { left: post.left >= side + 2 * GAP ? post.left - side - GAP : post.left + GAP, top };
  const fits = viewport.width - post.right >= side + 2 * GAP;
  return { left: fits ? post.right + GAP : post.right - side - GAP, top };
}
