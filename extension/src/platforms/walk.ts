/**
 * Visits a page's content: every text, block edge and element in document order.
 *
 * The page is read where it stands, without a copy, and with a loop: pages nest deeper than calls may.
 */

import type { Exclusion } from './base';
import { NODES_PER_STEP, type Steps, runToEnd } from './steps';
import { firstChildOf, nameOf, nextSiblingOf, nodeTypeOf, parentOf } from './tree';

const BLOCKS = new Set('p li h1 h2 h3 h4 h5 h6 figcaption blockquote tr td th div'.split(' '));
/** Kinds of nodes; those of `Node` would be looked up there for each node. */
const ELEMENT = 1;
const TEXT = 3;
const CDATA = 4;
const NEVER_TEXT = new Set(['script', 'style', 'noscript']);

export interface Visitor {
  text(data: string): void;
  /** `name` is the element's own, asked for once: an article has thousands of them. */
  enter?(element: Element, name: string): void;
  leave?(name: string): void;
}

/** Scripts and styles are never text that a reader reads. Source: requirements 3.8. */
export const isNeverText: Exclusion = (element) => NEVER_TEXT.has(nameOf(element));

/** Elements whose edges separate words, as a space would. Source: docs/protocol.md 3.2. */
export function isBlock(name: string): boolean {
  return BLOCKS.has(name);
}

/** Visit all that is below an element and not excluded, in steps. */
export function* walkSteps(root: Element, excluded: Exclusion, visitor: Visitor): Steps<void> {
  let visited = 0;
  let node = firstChildOf(root);
  while (node !== null) {
    if (++visited % NODES_PER_STEP === 0) yield;
    const type = nodeTypeOf(node);
    if (type === TEXT || type === CDATA) visitor.text((node as Text).data);
    else if (type === ELEMENT && !excluded(node as Element)) {
      const name = nameOf(node as Element);
      visitor.enter?.(node as Element, name);
      const inside = firstChildOf(node);
      if (inside !== null) {
        node = inside;
        continue;
      }
      visitor.leave?.(name);
    }
    let next = nextSiblingOf(node);
    while (next === null) {
      node = parentOf(node);
      if (node === null || node === root) return;
      visitor.leave?.(nameOf(node as Element));
      next = nextSiblingOf(node);
    }
    node = next;
  }
}

/** The same at once. */
export function walk(root: Element, excluded: Exclusion, visitor: Visitor): void {
  runToEnd(walkSteps(root, excluded, visitor));
}

/** All text of an element, as `textContent` gives it but without what is excluded. */
export function textWithout(root: Element, excluded: Exclusion): string {
  const parts: string[] = [];
  walk(root, excluded, { text: (data) => parts.push(data) });
  return parts.join('');
}
