/**
 * Replaces, in the build, WXT's context of a content script, which nothing here uses: that one is larger, and tells the page
 * by an event that the extension runs in it.
 */
export function ContentScriptContext(): void {
  // Nothing to keep.
}
