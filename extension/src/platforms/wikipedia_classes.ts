/**
 * Classes of the elements that are not an article's text: marks of the software, lists of notes, navigation.
 *
 * The same facts as the server's `platforms/wikipedia_text.py`, which names their sources; a test compares both.
 */

const COMMON = [
  'mw-editsection', 'catlinks', 'printfooter', 'references', 'mw-references-wrap', 'reflist', 'noprint', 'navbox',
  'vertical-navbox', 'mw-collapsible-toggle', 'mw-tmh-player',
]; // prettier-ignore

const OF_LANGUAGES: Readonly<Record<string, readonly string[]>> = {
  de: ['navframe'],
  fr: ['navbox-container', 'bandeau-portail'],
};

/** Classes left out in an article of a language, given as HTML's `lang` gives it. */
export function excludedClasses(language: string): ReadonlySet<string> {
  const name = (language.split('-', 1)[0] ?? '').toLowerCase();
  return new Set([...COMMON, ...(Object.hasOwn(OF_LANGUAGES, name) ? (OF_LANGUAGES[name] ?? []) : [])]);
}
