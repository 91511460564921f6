/**
 * Which elements of an article are not its text: notes, references, navigation, and the sections that list them.
 *
 * The server prunes the same revision by the same rule. Where both differ, every reader's page conflicts with ours and
 * pictures stand at other places. Nothing is removed here: the page stays whole, the result is a set.
 */

import { type Steps, whole } from './steps';
import { textWithout, walkSteps } from './walk';
import { attributeOf, nameOf, nextElementOf, outerOf } from './tree';
import { normalize } from './text';
import { excludedSections } from './wikipedia_sections';

const EXCLUDED_CLASSES = new Set([
  'mw-editsection', 'catlinks', 'printfooter', 'references', 'mw-references-wrap', 'reflist', 'noprint', 'navbox',
  'vertical-navbox', 'mw-collapsible-toggle', 'mw-tmh-player',
]); // prettier-ignore
const HEADING = /^h[2-6]$/;

/** The topmost elements that are no text of the article. Source: CONTRACT 4.5. */
export function* excludedSteps(root: Element): Steps<Set<Element>> {
  const parts = new Set<Element>();
  const isUnwanted = remembering();
  // Most of an article's elements lie within its notes and references: what is excluded is not walked.
  const collect = (element: Element): boolean => {
    const unwanted = isUnwanted(element);
    if (unwanted) parts.add(element);
    return unwanted;
  };
  yield* walkSteps(root, collect, { text: () => undefined });
  yield* new Sections(root, parts).exclude();
  return parts;
}

/** The same at once. */
export function excludedParts(root: Element): Set<Element> {
  return whole(excludedSteps(root));
}

/** Tells unwanted elements by name and classes, of which an article repeats few spellings thousands of times. */
function remembering(): (element: Element) => boolean {
  const answers = new Map<string, boolean>();
  return (element) => {
    const name = nameOf(element);
    const spelling = attributeOf(element, 'class');
    const key = spelling === null ? name : `${name} ${spelling}`;
    let answer = answers.get(key);
    if (answer === undefined) answers.set(key, (answer = isExcludedElement(name, classes(element))));
    return answer;
  };
}

/** Whether an element is left out with all it holds. */
export function isExcludedElement(tag: string, classTokens: readonly string[]): boolean {
  const name = tag.toLowerCase();
  if (name === 'script' || name === 'style' || name === 'noscript') return true;
  const tokens = classTokens.map((token) => token.toLowerCase());
  return tokens.some((token) => EXCLUDED_CLASSES.has(token)) || (name === 'sup' && tokens.includes('reference'));
}

/** Whether a section of that title is left out, in the language the article's element states. */
export function isExcludedSection(title: string, language = ''): boolean {
  return excludedSections(language).has(normalize(title).toLowerCase());
}

function classes(element: Element): string[] {
  return (attributeOf(element, 'class') ?? '').split(/[\t\n\f\r ]+/);
}

/** Takes sections out one after the other; each sees the article as the ones before have left it. */
class Sections {
  readonly #root: Element;
  readonly #parts: Set<Element>;

  constructor(root: Element, parts: Set<Element>) {
    this.#root = root;
    this.#parts = parts;
  }

  *exclude(): Steps<void> {
    const language = this.#root.getAttribute('lang') ?? '';
    for (const heading of this.#root.querySelectorAll('h2, h3, h4, h5, h6')) {
      if (!this.#isGone(heading) && isExcludedSection(this.#title(heading), language)) this.#excludeFrom(heading);
      yield;
    }
  }

  /** A heading and the elements after it, up to the next heading of its level or above; bare text stays. */
  #excludeFrom(heading: Element): void {
    const parent = outerOf(heading);
    const isWrapped = parent !== null && parent !== this.#root && this.#wrapped(parent) === heading;
    const first = isWrapped ? parent : heading;
    this.#parts.add(first);
    for (let next = nextElementOf(first); next !== null; next = nextElementOf(next)) {
      if (this.#parts.has(next)) continue;
      const level = this.#level(next);
      if (level !== null && level <= heading.localName) return;
      this.#parts.add(next);
    }
  }

  #title(heading: Element): string {
    const headline = [...heading.querySelectorAll('.mw-headline')].find((one) => !this.#isGone(one));
    return textWithout(headline ?? heading, (element) => this.#parts.has(element));
  }

  /** The name of the heading that an element is or wraps; null for any other element. */
  #level(element: Element): string | null {
    return HEADING.test(element.localName) ? element.localName : (this.#wrapped(element)?.localName ?? null);
  }

  /** The heading a `div.mw-heading` speaks for: its first child that is one. */
  #wrapped(element: Element): Element | null {
    if (element.localName !== 'div') return null;
    if (!classes(element).some((token) => token.toLowerCase() === 'mw-heading')) return null;
    return [...element.children].find((one) => HEADING.test(one.localName) && !this.#parts.has(one)) ?? null;
  }

  #isGone(element: Element): boolean {
    for (let at: Element | null = element; at !== null && at !== this.#root; at = outerOf(at)) {
      if (this.#parts.has(at)) return true;
    }
    return false;
  }
}
