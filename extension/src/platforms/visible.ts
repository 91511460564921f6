/** Whether a reader can see an element, by its style and its ancestors', not by its size or place. */

export function isVisible(element: Element): boolean {
  return element.checkVisibility({ visibilityProperty: true });
}
