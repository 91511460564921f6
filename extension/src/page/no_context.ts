/**
 * Replaces, in the build, WXT's context of a content script, which nothing here uses: it is larger, and its event shows the
 * page that the extension runs in it.
 */
export function ContentScriptContext(): void {
  // Nothing to keep.
}
