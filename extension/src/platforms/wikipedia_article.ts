/**
 * Which elements of an article are not its text: notes, references, navigation, and the sections that list them.
 *
 * The server prunes the same revision by the same rule. Where both differ, every reader's page conflicts with ours and
 * pictures stand at other places. Nothing is removed here: the page stays whole, the result is a set.
 */

import { type Steps, runToEnd } from './steps';
import { textWithout, walkSteps } from './walk';
import { attributeOf, nameOf, nextElementOf, outerOf } from './tree';
import { normalize } from './text';
import { excludedClasses } from './wikipedia_classes';
import { excludedSections } from './wikipedia_sections';

const HEADING = /^h[2-6]$/;

/** The topmost elements that are no text of the article; `otherwise` is its language where its element states none. */
export function* excludedSteps(root: Element, otherwise = ''): Steps<Set<Element>> {
  const language = root.getAttribute('lang') || otherwise;
  const parts = new Set<Element>();
  const isUnwanted = createClassifier(language);
  // Most of an article's elements lie within its notes and references: what is excluded is not walked.
  const collect = (element: Element): boolean => {
    const unwanted = isUnwanted(element);
    if (unwanted) parts.add(element);
    return unwanted;
  };
  yield* walkSteps(root, collect, { text: () => undefined });
  yield* new Sections(root, parts, language).exclude();
  return parts;
}

/** The same at once. */
export function excludedParts(root: Element, language = ''): Set<Element> {
  return runToEnd(excludedSteps(root, language));
}

/** Tells unwanted elements by name and classes, of which an article repeats few spellings thousands of times. */
function createClassifier(language: string): (element: Element) => boolean {
  const answers = new Map<string, boolean>();
  return (element) => {
    const name = nameOf(element);
    const spelling = attributeOf(element, 'class');
    const key = spelling === null ? name : `${name} ${spelling}`;
    let answer = answers.get(key);
    if (answer === undefined) {
      answers.set(key, (answer = isExcludedElement(name, classes(element), language)));
    }
    return answer;
  };
}

/** Whether an element is left out with all it holds. */
export function isExcludedElement(tag: string, classTokens: readonly string[], language = ''): boolean {
  const name = tag.toLowerCase();
  if (name === 'script' || name === 'style' || name === 'noscript') return true;
  const tokens = classTokens.map((token) => token.toLowerCase());
  const excluded = excludedClasses(language);
  return tokens.some((token) => excluded.has(token)) || (name === 'sup' && tokens.includes('reference'));
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
  readonly #language: string;

  constructor(root: Element, parts: Set<Element>, language: string) {
    this.#root = root;
    this.#parts = parts;
    this.#language = language;
  }

  *exclude(): Steps<void> {
    for (const heading of this.#root.querySelectorAll('h2, h3, h4, h5, h6')) {
      if (!this.#isGone(heading) && isExcludedSection(this.#title(heading), this.#language)) this.#excludeFrom(heading);
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

  /** The heading a `div.mw-heading` wraps: its first child that is one. */
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
