/**
 * Whether the text of a page has a light or a dark background, by what is painted, so that a site's own dark mode counts.
 */
import { outerOf } from '../platforms/tree';
import type { Tone } from './highlights';

const COLOUR = /^rgba?\(\s*([\d.]+)[\s,]+([\d.]+)[\s,]+([\d.]+)(?:[\s,/]+([\d.]+)(%)?)?\s*\)$/;
/** Relative luminance below which a background counts as dark. */
const DARK_BELOW = 0.4;

/** The tone behind `element`: that of the nearest opaque background. */
export function backgroundTone(element: Element | null): Tone {
  for (let at = element; at !== null; at = outerOf(at)) {
    const view = element!.ownerDocument.defaultView;
    const luminance = view === null ? null : luminanceOf(view.getComputedStyle(at).backgroundColor);
    if (luminance !== null) return luminance < DARK_BELOW ? 'dark' : 'light';
  }
  return canvasTone(element);
}

/** With nothing painted, the canvas has the colour of the page's scheme. */
function canvasTone(element: Element | null): Tone {
  const root = element?.ownerDocument.documentElement;
  const view = root?.ownerDocument.defaultView;
  if (root === undefined || view == null) return 'light';
  const schemes = view.getComputedStyle(root).colorScheme.split(/\s+/);
  if (!schemes.includes('dark')) return 'light';
  if (!schemes.includes('light')) return 'dark';
  return view.matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
}

/** Relative luminance of a computed colour, 0 to 1; null when one sees through it or it is not plain sRGB. */
export function luminanceOf(colour: string): number | null {
  const found = COLOUR.exec(colour);
  if (found === null) return null;
  const alpha = found[4] === undefined ? 1 : Number(found[4]) / (found[5] === '%' ? 100 : 1);
  if (alpha < 0.5) return null;
  const [red, green, blue] = [found[1], found[2], found[3]].map((part) => linear(Number(part) / 255));
  return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!;
}

function linear(part: number): number {
  return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
}
