/**
 * Steps through a page's tree that no page can turn in a circle.
 *
 * A control of a form hides the form's own property of its name, from every script and in every world: with
 * `<form><input name="nextSibling">` a walk would go from the form into the form for ever, and the tab with it.
 */

type Step = 'firstChild' | 'nextSibling' | 'parentNode' | 'nodeType';

function own<S extends Step>(node: Node, step: S): Node[S] {
  return node instanceof HTMLFormElement ? (Reflect.get(Node.prototype, step, node) as Node[S]) : node[step];
}

export const firstChildOf = (node: Node): Node | null => own(node, 'firstChild');
export const nextSiblingOf = (node: Node): Node | null => own(node, 'nextSibling');
export const parentOf = (node: Node): Node | null => own(node, 'parentNode');
export const nodeTypeOf = (node: Node): number => own(node, 'nodeType');

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
export function attributeOf(element: Element, name: string): string | null {
  return element instanceof HTMLFormElement
    ? Element.prototype.getAttribute.call(element, name)
    : element.getAttribute(name);
}

/** An element's name without its prefix. */
export function nameOf(element: Element): string {
  return element instanceof HTMLFormElement ? 'form' : element.localName;
}

/** An element's HTML, itself included. */
export function markupOf(element: Element): string {
  return element instanceof HTMLFormElement
    ? (Reflect.get(Element.prototype, 'outerHTML', element) as string)
    : element.outerHTML;
}
