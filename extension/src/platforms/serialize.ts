/**
 * The HTML of a piece of the page without what is excluded.
 *
 * The copy lives in a document of its own: in the page's, copied pictures would be asked for again and copied custom
 * elements would run.
 */

import { utf8Length } from './text';
import { firstChildOf, nextSiblingOf, parentOf } from './tree';

/** The most that fits into a registration beside the text. Source: CONTRACT 7.4. */
const MOST_BYTES = 262_144;

export function htmlWithout(root: Element, excluded: ReadonlySet<Element>): string {
  if (excluded.size === 0) return root.innerHTML;
  const above = new Set<Node>();
  for (const element of excluded) {
    for (let at: Node | null = element; at !== null && at !== root && !above.has(at); at = parentOf(at)) above.add(at);
  }
  above.add(root);
  return copied(root, excluded, above, root.ownerDocument.implementation.createHTMLDocument('')).innerHTML;
}

/** Whole where nothing below is excluded, child by child where something is: `above` holds what must be taken apart. */
function copied<T extends Node>(node: T, excluded: ReadonlySet<Node>, above: ReadonlySet<Node>, into: Document): T {
  if (!above.has(node)) return into.importNode(node, true);
  const copy = into.importNode(node, false);
  for (let child = firstChildOf(node); child !== null; child = nextSiblingOf(child)) {
    if (!excluded.has(child)) copy.appendChild(copied(child, excluded, above, into));
  }
  return copy;
}

/** The HTML if there is any and it is small enough to be sent. */
export function sendable(html: string): string | null {
  return html !== '' && html.length <= MOST_BYTES && utf8Length(html) <= MOST_BYTES ? html : null;
}
