/**
 * For any HTML at all, our text and pictures are those that `tests/browser/rules.js` describes; the server's are held to
 * the same description, so client and server agree.
 */
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { browser } from './browser';

const rules = readFileSync(new URL('../../../tests/browser/rules.js', import.meta.url), 'utf8');
const chromium = browser(`${rules}
  globalThis.askRules = (rule, inputs) =>
    JSON.stringify(JSON.parse(inputs).map({ htmlText, pageImages, articleText }[rule]));`);

const words = (text: string): string[] => text.split(' ');
const tags = fc.constantFrom(
  ...words('p li h1 h2 h3 h6 figcaption blockquote tr td th div ul table tbody section b a span i sup em pre svg math'),
  ...words('figure script style noscript template select option textarea title br hr button form x-card caption dl dd'),
);
const texts = fc.constantFrom(
  ...words(
    'word a. “q” don’t x—y … é e\u0301 \u0301 \u1100\u1161 😀 \u200b \u0085 &amp; &nbsp; &lt; &#x80; &zwj; </ <!--c--> <![CDATA[x]]>',
  ),
  ' ',
  '\n\t',
  '\u00a0',
  ' two words ',
);
const attributes = fc.constantFrom('', '', '', ' class="x y"', ' hidden', ' style="display:none"', ' id=a', ' lang=de');
const start = fc.tuple(tags, attributes).map(([tag, attribute]) => `<${tag}${attribute}>`);
const end = tags.map((tag) => `</${tag}>`);
const soup = fc.array(fc.oneof(start, end, texts, texts), { maxLength: 24 }).map((pieces) => pieces.join(''));
/** Elements side by side with nothing between them, where the parser leaves them. */
const row = fc.array(fc.tuple(fc.constantFrom('td', 'th'), texts), { maxLength: 4 });
const table = fc
  .array(row, { maxLength: 3 })
  .map((rows) => rows.map((cells) => `<tr>${cells.map(([tag, text]) => `<${tag}>${text}`).join('')}`).join(''))
  .map((inside) => `x<table>${inside}</table>y`);
const siblings = fc
  .array(fc.tuple(tags, texts), { maxLength: 6 })
  .map((elements) => elements.map(([tag, text]) => `a<${tag}>${text}</${tag}>`).join('b'));
const documents = fc.oneof(soup, table, siblings);

const sources = fc.constantFrom(
  'a.png',
  '/b.png?q=1',
  '//c.example/x',
  '',
  ' ',
  'data:image/png,x',
  'http://[',
  '\ta .png',
  '#f',
);
const quoted = fc.option(fc.constantFrom('', ' ', 'a “caption”', 'e\u0301'), { nil: undefined });
const image = fc.record({ src: fc.option(sources, { nil: undefined }), alt: quoted, title: quoted }).map((values) => {
  const given = Object.entries(values).filter(([, value]) => value !== undefined);
  return `<img${given.map(([name, value]) => ` ${name}="${value}"`).join('')}>`;
});
const figure = fc.constantFrom('<figure>', '</figure>', '<figcaption>', '</figcaption>', '<p>', '</p>', '<template>');
const pictures = fc
  .array(fc.oneof(image, image, figure, texts, start), { maxLength: 20 })
  .map((pieces) => pieces.join(''));

const titles = fc.constantFrom(
  'References', 'NOTES ', 'Further\u00a0reading', 'See also', 'History', 'Re\u200bferences', 'Notes<sup class=reference>1</sup>',
  '<span class=mw-headline>Sources</span>[edit]', "Sources<span class='mw-editsection'>[edit]</span>", '<b class=noprint>x</b>Notes',
); // prettier-ignore
const heading = fc
  .tuple(fc.constantFrom('h1', 'h2', 'h3', 'h4'), titles)
  .map(([tag, title]) => `<${tag}>${title}</${tag}>`);
const wrapped = fc
  .tuple(
    fc.constantFrom('mw-heading', 'MW-Heading mw-heading2', 'x'),
    heading,
    fc.constantFrom('', '<h2>History</h2>', 'x'),
  )
  .map(([name, inside, more]) => `<div class="${name}">${inside}${more}</div>`);
const classed = fc
  .tuple(
    fc.constantFrom('div', 'sup', 'ol', 'span', 'p'),
    fc.constantFrom(
      'reference',
      'References',
      'reflist x',
      'NAVBOX',
      'a\u00a0noprint',
      '\tnoprint\n',
      'mw-parser-output',
      'infobox',
    ),
    fc.constantFrom('text', '<p>more</p>', '<h2>Notes</h2>', '<h3>Sources</h3>x'),
  )
  .map(([tag, name, inside]) => `<${tag} class="${name}">${inside}</${tag}>`);
const loose = fc.constantFrom('<section>', '</section>', '<div>', '</div>', '<p>', '<ul><li>', '</ul>');
const article = fc
  .array(fc.oneof(heading, wrapped, classed, loose, texts), { maxLength: 20 })
  .map((pieces) => `<div class="mw-parser-output" lang="en">${pieces.join('')}</div>`);

/** A round trip costs more than a page. */
const TOGETHER = 25;
const WITHIN_MS = 180_000;

async function agree<T>(
  rule: string,
  inputs: fc.Arbitrary<T>,
  ours: (inputs: T[]) => Promise<unknown[]>,
): Promise<void> {
  await chromium().openBlank('https://site.example/a/b?c');
  const together = fc.array(inputs, { minLength: TOGETHER, maxLength: TOGETHER });
  await fc.assert(
    fc.asyncProperty(together, async (given) => {
      const theirs = await chromium().ask(rule, given, 'askRules');
      const own = await ours(given);
      given.forEach((input, index) => expect(own[index], JSON.stringify(input)).toEqual(theirs[index]));
    }),
    { numRuns: 60 },
  );
}

test('the text of any HTML', { timeout: WITHIN_MS }, async () => {
  await agree('htmlText', documents, (htmls) =>
    chromium().ask(
      'htmlText',
      htmls.map((html) => ({ html })),
    ),
  );
});

test('the text of any article', { timeout: WITHIN_MS }, async () => {
  const url = 'https://en.wikipedia.org/wiki/A';
  await agree('articleText', fc.oneof(article, article, documents), async (htmls) => {
    const answers = await chromium().ask(
      'article',
      htmls.map((html) => ({ html, url })),
    );
    return answers.map((answer) => (answer as { text: string }).text);
  });
});

test('the pictures of any page', { timeout: WITHIN_MS }, async () => {
  const base = 'https://site.example/a/b?c#d';
  const pages = pictures.map((html) => ({ html, base }));
  await agree('pageImages', pages, async (given) => {
    const answers = await chromium().ask(
      'images',
      given.map(({ html }) => ({ html, baseUrl: base })),
    );
    return (answers as PageImages[]).map(({ contentText, imageOccurrences }) => ({
      text: contentText,
      occurrences: imageOccurrences.map((one) => [one.sourceUrl, one.normalizedTextOffset, one.captionText ?? null]),
    }));
  });
});

interface PageImages {
  contentText: string;
  imageOccurrences: { sourceUrl: string; normalizedTextOffset: number; captionText?: string }[];
}
