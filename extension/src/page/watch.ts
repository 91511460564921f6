/**
 * Notices what a page does without touching it: changes of its tree, of its address, of its colours.
 *
 * A content script cannot see `pushState`, which the page calls in its own world. The Navigation API reports it where it
 * exists; elsewhere the address is compared whenever the page changes and once a second.
 */
export interface PageObserver {
  /** The address may be another, or the page came to rest after changes. */
  onSettled(): void;
  /** Called at once for a batch of changes; true if they matter and the page should be looked at again. */
  onMutations(records: readonly MutationRecord[]): boolean;
  /** A switch between light and dark may have been turned. */
  onToneChange(): void;
  /** The page is back from the browser's back-forward cache. */
  onReturn(): void;
  /** About once a second while the page is seen. */
  onTick(): void;
}

const REFRESH_MS = 200;
const MUTATION_MS = 300;
/** A page that never rests is looked at this often. */
const RESTLESS_MS = 1_500;
const RECOLOUR_MS = 100;
const PULSE_MS = 1_000;

interface NavigationLike extends EventTarget {
  readonly currentEntry: unknown;
}

/** Watch `doc` until `signal` aborts. */
export function watch(doc: Document, watched: PageObserver, signal: AbortSignal): void {
  const view = doc.defaultView!;
  const look = new Debounce(() => watched.onSettled());
  const tint = new Debounce(() => watched.onToneChange());
  let address = view.location.href;

  const addressMayHaveChanged = (): void => {
    if (view.location.href === address) return;
    address = view.location.href;
    look.schedule(REFRESH_MS, REFRESH_MS);
  };
  const tree = new MutationObserver((records) => {
    addressMayHaveChanged();
    if (watched.onMutations(records)) look.schedule(MUTATION_MS, RESTLESS_MS);
  });
  tree.observe(doc, { childList: true, subtree: true, characterData: true });

  const colours = new MutationObserver(() => tint.schedule(RECOLOUR_MS, RESTLESS_MS));
  const switches = { attributes: true, attributeFilter: ['class', 'style', 'data-theme', 'data-color-mode'] };
  colours.observe(doc.documentElement, switches);
  if ((doc.body as HTMLElement | null) !== null) colours.observe(doc.body, switches);
  view.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => watched.onToneChange(), { signal });

  const { navigation } = view as { navigation?: NavigationLike };
  navigation?.addEventListener('currententrychange', addressMayHaveChanged, { signal });
  view.addEventListener('popstate', addressMayHaveChanged, { signal });
  view.addEventListener('hashchange', addressMayHaveChanged, { signal });
  view.addEventListener('pageshow', (event) => event.persisted && watched.onReturn(), { signal });
  doc.addEventListener('visibilitychange', () => look.schedule(REFRESH_MS, REFRESH_MS), { signal });
  const pulse = setInterval(() => {
    if (doc.visibilityState !== 'visible') return;
    addressMayHaveChanged();
    watched.onTick();
  }, PULSE_MS);

  signal.addEventListener('abort', () => {
    tree.disconnect();
    colours.disconnect();
    clearInterval(pulse);
    look.cancel();
    tint.cancel();
  });
}

/** Runs once the calls have stopped coming, but no later than the longest wait. */
export class Debounce {
  readonly #run: () => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #since: number | null = null;

  constructor(run: () => void) {
    this.#run = run;
  }

  schedule(quietMs: number, longestMs: number): void {
    const now = Date.now();
    this.#since ??= now;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(
      () => {
        this.#since = null;
        this.#run();
      },
      Math.max(0, Math.min(quietMs, this.#since + longestMs - now)),
    );
  }

  cancel(): void {
    clearTimeout(this.#timer);
    this.#since = null;
  }
}
