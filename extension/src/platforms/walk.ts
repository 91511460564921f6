/**
 * The one way through a page's content: every text, block edge and element in document order.
 *
 * The page is read where it stands, without a copy, and with a loop: pages nest deeper than calls may.
 */

import type { Exclusion } from './base';
import { NODES_PER_STEP, type Steps, whole } from './steps';
import { firstChildOf, nextSiblingOf, nodeTypeOf, parentOf } from './tree';

const BLOCKS = new Set('p li h1 h2 h3 h4 h5 h6 figcaption blockquote tr td th div'.split(' '));
const NEVER_TEXT = new Set(['script', 'style', 'noscript']);

export interface Visitor {
  text(data: string): void;
  enter?(element: Element): void;
  leave?(element: Element): void;
}

/** Scripts and styles are on no site what a reader reads. Source: specification 3.8. */
export const isNeverText: Exclusion = (element) => NEVER_TEXT.has(element.localName);

/** Elements whose edges separate words, as a space would. Source: CONTRACT 4.2. */
export function isBlock(element: Element): boolean {
  return BLOCKS.has(element.localName);
}

/** Visit all that is below an element and not excluded, in steps. */
export function* walkSteps(root: Element, excluded: Exclusion, visitor: Visitor): Steps<void> {
  let visited = 0;
  let node = firstChildOf(root);
  while (node !== null) {
    if (++visited % NODES_PER_STEP === 0) yield;
    const element = isElement(node) && !excluded(node) ? node : null;
    if (isText(node)) visitor.text(node.data);
    if (element !== null) visitor.enter?.(element);
    const inside = element === null ? null : firstChildOf(element);
    if (inside !== null) {
      node = inside;
      continue;
    }
    if (element !== null) visitor.leave?.(element);
    let next = nextSiblingOf(node);
    while (next === null) {
      node = parentOf(node);
      if (node === null || node === root) return;
      visitor.leave?.(node as Element);
      next = nextSiblingOf(node);
    }
    node = next;
  }
}

/** The same at once. */
export function walk(root: Element, excluded: Exclusion, visitor: Visitor): void {
  whole(walkSteps(root, excluded, visitor));
}

/** All text of an element, as `textContent` gives it but without what is excluded. */
export function textWithout(root: Element, excluded: Exclusion): string {
  const parts: string[] = [];
  walk(root, excluded, { text: (data) => parts.push(data) });
  return parts.join('');
}

function isElement(node: Node): node is Element {
  return nodeTypeOf(node) === Node.ELEMENT_NODE;
}

function isText(node: Node): node is Text {
  const type = nodeTypeOf(node);
  return type === Node.TEXT_NODE || type === Node.CDATA_SECTION_NODE;
}
