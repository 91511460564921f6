/**
 * What a reader does on the page, as far as it matters to us.
 *
 * Only events that a person made count; a page's script cannot open anything. No event is stopped or changed: the page's
 * own links, shortcuts and selections keep working.
 */
export interface Click {
  readonly x: number;
  readonly y: number;
  readonly path: readonly EventTarget[];
  /** Neither on a control of the page nor the end of a selection. */
  readonly isPlain: boolean;
}

export interface Gestures {
  /** Whether it matters where the pointer is. */
  isNeeded(): boolean;
  /** At most once per animation frame. */
  onPointerMove(x: number, y: number): void;
  onPointerLeave(): void;
  onClick(click: Click): void;
  onEscape(): void;
  onTab(): void;
  /** The page moved under the window. */
  onScroll(): void;
  /** The window has another size, also by zooming. */
  onResize(): void;
}

const INTERACTIVE =
  'a[href], button, input, select, textarea, label, summary, [contenteditable], [role="button"], [role="link"]';

/** Report gestures until `signal` aborts. */
export function listen(doc: Document, gestures: Gestures, signal: AbortSignal): void {
  const view = doc.defaultView!;
  const quietly = { passive: true, capture: true, signal } as const;
  let pointer = { x: 0, y: 0 };
  let isDue = false;

  view.addEventListener(
    'pointermove',
    ({ isTrusted, pointerType, clientX, clientY }) => {
      if (!isTrusted || pointerType === 'touch') return;
      pointer = { x: clientX, y: clientY };
      if (isDue || !gestures.isNeeded()) return;
      isDue = true;
      requestAnimationFrame(() => {
        isDue = false;
        gestures.onPointerMove(pointer.x, pointer.y);
      });
    },
    quietly,
  );
  view.addEventListener(
    'click',
    (event) => {
      if (!event.isTrusted || event.button !== 0) return;
      if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
      const path = event.composedPath();
      const onControl = path.some((node) => node instanceof Element && node.matches(INTERACTIVE));
      const isPlain = !onControl && doc.getSelection()?.isCollapsed !== false;
      gestures.onClick({ x: event.clientX, y: event.clientY, path, isPlain });
    },
    quietly,
  );
  view.addEventListener(
    'keydown',
    ({ isTrusted, key }) => {
      if (isTrusted && key === 'Escape') gestures.onEscape();
      if (isTrusted && key === 'Tab') gestures.onTab();
    },
    quietly,
  );
  view.addEventListener('scroll', () => gestures.onScroll(), quietly);
  view.addEventListener('resize', () => gestures.onResize(), quietly);
  doc.documentElement.addEventListener('pointerleave', () => gestures.onPointerLeave(), { passive: true, signal });
}
