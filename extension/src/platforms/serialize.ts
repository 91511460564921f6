/**
 * The HTML of a part of the page without excluded elements: nothing else read from a page is as expensive, so it is made
 * in steps and abandoned as soon as it is too long to be sent.
 *
 * Nothing is copied into the page's own document: copied pictures would be asked for again and copied custom elements
 * would run.
 */

import { type Steps } from './steps';
import { utf8Length } from './text';
import { firstChildOf, markupOf, nextSiblingOf, nodeTypeOf, parentOf } from './tree';

/** The most that fits into a registration beside the text. Source: docs/protocol.md 5.3. */
const MOST_BYTES = 262_144;

/** The HTML below `root`; null where it would be longer than `most` UTF-16 units. */
export function* htmlSteps(root: Element, excluded: ReadonlySet<Element>, most = Infinity): Steps<string | null> {
  const partial = ancestorsOf(excluded, root);
  const inert = root.ownerDocument.implementation.createHTMLDocument('');
  const pieces: string[] = [];
  const closing: string[] = [];
  let length = 0;
  const put = (piece: string): void => {
    pieces.push(piece);
    length += piece.length;
  };
  let node = firstChildOf(root);
  while (node !== null) {
    const left = excluded.has(node as Element);
    const inside = left || !partial.has(node) ? null : firstChildOf(node);
    if (inside !== null) {
      const empty = inert.importNode(node as Element, false).outerHTML;
      const end = empty.lastIndexOf('</');
      put(empty.slice(0, end));
      closing.push(empty.slice(end));
      node = inside;
      continue;
    }
    if (!left) put(htmlOf(node, inert));
    if (length > most) return null;
    yield;
    let next = nextSiblingOf(node);
    while (next === null) {
      node = parentOf(node);
      if (node === null || node === root) return pieces.join('');
      put(closing.pop() ?? '');
      next = nextSiblingOf(node);
    }
    node = next;
  }
  return pieces.join('');
}

/** The HTML below `root` if there is any and it is small enough to be sent. */
export function* sendableSteps(root: Element, excluded: ReadonlySet<Element>): Steps<string | null> {
  const html = yield* htmlSteps(root, excluded, MOST_BYTES);
  return html !== null && html !== '' && utf8Length(html) <= MOST_BYTES ? html : null;
}

/** Every element that something excluded lies in: it has to be taken apart. */
function ancestorsOf(excluded: ReadonlySet<Element>, root: Element): Set<Node> {
  const found = new Set<Node>();
  for (const element of excluded) {
    for (let at = parentOf(element); at !== null && at !== root && !found.has(at); at = parentOf(at)) found.add(at);
  }
  return found;
}

function htmlOf(node: Node, inert: Document): string {
  if (nodeTypeOf(node) === 1) return markupOf(node as Element);
  const holder = inert.createElement('div');
  holder.append(inert.importNode(node, true));
  return holder.innerHTML;
}
