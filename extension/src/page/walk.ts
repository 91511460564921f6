/**
 * The page's text as the matcher needs it, with the text nodes it came from, read in steps that a caller may spread out.
 *
 * The walk reads and never writes: nothing of ours is ever put into the page's own tree. Text of script, style and noscript
 * is not content on any site, whatever an adapter excludes besides. Words that their author struck out are there, but no
 * longer said: letters that fit no quote are read in their place, so that sentences still end where they did.
 */
import type { WalkedText } from '../anchoring/text';
import { NODES_PER_STEP, type Steps, runToEnd } from '../platforms/steps';
import { firstChildOf, nameOf, nextSiblingOf, nodeTypeOf, parentOf } from '../platforms/tree';

export interface Walk {
  readonly text: WalkedText;
  /** Text nodes in document order; `starts[i]` is where the words of `nodes[i]` begin in `text.raw`. */
  readonly nodes: readonly Text[];
  readonly starts: readonly number[];
}

const ELEMENT = 1;
const TEXT = 3;
/** CDATA sections of XML pages are text as well. */
const CDATA = 4;
const NEVER_CONTENT = new Set(['script', 'style', 'noscript', 'template']);
const STRUCK_OUT = new Set(['s', 'del', 'strike']);
/** A letter that is known from one manuscript and in no post. */
const UNREAD = '\ua66e';
/** Elements that end a word where they begin and end, and those after which a word may end. */
const BLOCKS = new Set(
  (
    'address article aside blockquote br caption center dd details dialog div dl dt fieldset figcaption figure footer form ' +
    'h1 h2 h3 h4 h5 h6 header hr legend li main nav ol optgroup option p pre section summary table tbody td tfoot th thead tr ul'
  ).split(' '),
);

/** Walk the text under `root`; yields between steps so that a caller may yield to the page. */
export function* walkSteps(root: Element, excluded: (element: Element) => boolean): Steps<Walk> {
  const pieces: string[] = [];
  const nodes: Text[] = [];
  const starts: number[] = [];
  const breaks: number[] = [];
  const markers: (readonly [number, number])[] = [];
  const open: { element: Element; at: number }[] = [];
  let struck: Element | null = null;
  let length = 0;
  let steps = 0;

  const breakHere = (): void => {
    if (breaks.at(-1) !== length) breaks.push(length);
  };
  const leave = (element: Element, name: string): void => {
    if (BLOCKS.has(name)) breakHere();
    if (struck === element) struck = null;
    if (open.at(-1)?.element === element) markers.push([open.pop()!.at, length]);
  };

  let node = firstChildOf(root);
  while (node !== null) {
    if (++steps % NODES_PER_STEP === 0) yield;
    const type = nodeTypeOf(node);
    if (type === TEXT || type === CDATA) {
      const { data } = node as Text;
      if (data !== '') {
        nodes.push(node as Text);
        starts.push(length);
        pieces.push(struck === null ? data : data.replace(/[\p{L}\p{N}]/gu, ({ length }) => UNREAD.repeat(length)));
        length += data.length;
      }
    } else if (type === ELEMENT) {
      const element = node as Element;
      const name = nameOf(element);
      if (BLOCKS.has(name)) breakHere();
      const inside = NEVER_CONTENT.has(name) || excluded(element) ? null : firstChildOf(element);
      if (inside !== null) {
        if (STRUCK_OUT.has(name)) struck ??= element;
        if (open.length === 0 && isMarker(element, name)) open.push({ element, at: length });
        node = inside;
        continue;
      }
      leave(element, name);
    }
    let next = nextSiblingOf(node);
    while (next === null) {
      node = parentOf(node);
      if (node === null || node === root) break;
      leave(node as Element, nameOf(node as Element));
      next = nextSiblingOf(node);
    }
    node = next;
  }
  return { text: { raw: pieces.join(''), breaks, markers }, nodes, starts };
}

/** The whole walk at once. */
export function walk(root: Element, excluded: (element: Element) => boolean): Walk {
  return runToEnd(walkSteps(root, excluded));
}

const MARKER_TEXT = /^(?:\[(?:\d{1,3}|[a-z]|(?:note|nb) \d{1,3})\]|\d{1,3}|[*\u2020\u2021\u00a7\u00b6]{1,3})$/;
const LONGEST_MARKER = 12;

/** A footnote's sign: raised and in brackets, or a link to a note that holds nothing but a number or a dagger. */
function isMarker(element: Element, name: string): boolean {
  const raised = name === 'sup';
  if (!raised && name !== 'a') return false;
  const link = raised ? element.querySelector('a[href*="#"]') : element;
  const within = link?.getAttribute('href')?.includes('#') === true;
  if (!raised && !within) return false;
  const text = element.textContent.slice(0, LONGEST_MARKER + 1).trim();
  return MARKER_TEXT.test(text) && (within || text.startsWith('['));
}
