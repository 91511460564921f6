/**
 * Steps through a page's tree that no page can turn in a circle.
 *
 * A control of a form hides the form's own property of its name, from every script and in every world: with
 * `<form><input name="nextSibling">` a walk would go from the form into the form for ever, and the tab with it. So the
 * browser's own getters are asked, whatever the node; that is also several times as fast as a property of many kinds of
 * nodes.
 */

const firstChild = getter<Node | null>('Node', 'firstChild');
const nextSibling = getter<Node | null>('Node', 'nextSibling');
const parentNode = getter<Node | null>('Node', 'parentNode');
const nodeType = getter<number>('Node', 'nodeType');
const localName = getter<string>('Element', 'localName');
const outerHTML = getter<string>('Element', 'outerHTML');

type Getter<T> = (this: Node) => T;

/** One of the browser's getters; in the worker and in the build there is no page, and none may be called. */
function getter<T>(owner: 'Node' | 'Element', name: string): Getter<T> {
  const { prototype } = (globalThis as Partial<typeof globalThis>)[owner] ?? {};
  // eslint-disable-next-line @typescript-eslint/unbound-method -- called with a node each time
  return Object.getOwnPropertyDescriptor(prototype ?? {}, name)?.get as Getter<T>;
}

export const firstChildOf = (node: Node): Node | null => firstChild.call(node);
export const nextSiblingOf = (node: Node): Node | null => nextSibling.call(node);
export const parentOf = (node: Node): Node | null => parentNode.call(node);
export const nodeTypeOf = (node: Node): number => nodeType.call(node);

/** The element around an element. */
export function outerOf(element: Element): Element | null {
  const parent = parentOf(element);
  return parent !== null && nodeTypeOf(parent) === 1 ? (parent as Element) : null;
}

/** The element after an element. */
export function nextElementOf(element: Element): Element | null {
  let next = nextSiblingOf(element);
  while (next !== null && nodeTypeOf(next) !== 1) next = nextSiblingOf(next);
  return next as Element | null;
}

/** An element's attribute. */
export const attributeOf = (element: Element, name: string): string | null =>
  Element.prototype.getAttribute.call(element, name);

/** An element's name without its prefix. */
export const nameOf = (element: Element): string => localName.call(element);

/** An element's HTML, itself included. */
export const markupOf = (element: Element): string => outerHTML.call(element);
