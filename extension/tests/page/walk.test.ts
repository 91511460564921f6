// @vitest-environment happy-dom
import { describe, expect, it } from 'vitest';

import { anchorClaims } from '../../src/anchoring';
import { isIntact, piecesOf } from '../../src/page/ranges';
import { runInSlices } from '../../src/page/slices';
import { walk, walkSteps } from '../../src/page/walk';

function root(html: string): Element {
  document.body.innerHTML = `<article>${html}</article>`;
  return document.querySelector('article')!;
}

const none = (): boolean => false;

/** The page's own words that a quote is anchored to, piece by piece. */
function anchored(html: string, text: string, context = '', excluded: (element: Element) => boolean = none): string[] {
  const walked = walk(root(html), excluded);
  const [found] = anchorClaims(walked.text, [{ id: 'c', text, context }]);
  if (found?.outcome !== 'anchored') return [found?.outcome ?? ''];
  return piecesOf(walked, found.start, found.end)!.map(({ range }) => range.toString());
}

describe('the walk', () => {
  it('reads text in document order and knows where it came from', () => {
    const walked = walk(root('<p>The <b>quick</b> fox</p><!-- no --><p>jumps</p>'), none);
    expect(walked.text.raw).toBe('The quick foxjumps');
    expect(walked.nodes.map((node) => node.data)).toEqual(['The ', 'quick', ' fox', 'jumps']);
    expect(walked.starts).toEqual([0, 4, 9, 13]);
    expect(walked.text.breaks).toEqual([0, 13, 18]);
  });

  it('takes no scripts, styles, nor what the site excludes', () => {
    const html = 'a<script>b</script><style>c</style><noscript>d</noscript><i class="x">e<b>f</b></i>g';
    expect(walk(root(html), (element) => element.className === 'x').text.raw).toBe('ag');
  });

  it.each([
    ['<p><s>Bats are blind.</s></p>', 'missing'],
    ['<p>Bats <del>are</del> blind.</p>', 'changed'],
    ['<p>Bats are <strike>bl</strike>ind.</p>', 'changed'],
    ['<p><del><s>Birds</s> and</del> Bats are blind.</p>', 'Bats are blind.'],
    ['<p><s>Birds are blind.</s> Bats are blind.<del></del></p>', 'Bats are blind.'],
  ])('underlines no words that are struck out: %s', (html, found) => {
    expect(anchored(html, 'Bats are blind.')).toEqual([found]);
  });

  it('underlines the sentence beside one that is struck out', () => {
    const html = '<p><s>Birds are blind.</s> Bats are blind. <s>𝔐oles “are”.</s></p>';
    expect(anchored(html, 'Bats are blind.', 'Birds are blind. Bats are blind. 𝔐oles')).toEqual(['Bats are blind.']);
  });

  it('takes a sentence of which a part was struck out for another one', () => {
    const html = '<p><s>Not all</s> bats are blind.</p>';
    expect(anchored(html, 'bats are blind.', 'Not all bats are blind.')).toEqual(['changed']);
    expect(anchored(html.replaceAll('s>', 'i>'), 'bats are blind.', 'Not all bats are blind.')).toEqual([
      'bats are blind.',
    ]);
  });

  it('reads pages that nest deeper than calls may', () => {
    const article = document.createElement('article');
    let at: Element = article;
    for (let i = 0; i < 20_000; i++) at = at.appendChild(document.createElement('div'));
    at.append('deep');
    expect(walk(article, none).text.raw).toBe('deep');
  });

  it.each([
    ['<sup>[1]</sup>', true],
    ['<sup><a href="#fn1">1</a></sup>', true],
    ['<sup id="r"><a href="https://example.org/p#footnote-1">[12]</a></sup>', true],
    ['<a class="n" href="#footnote-3">3</a>', true],
    ['<a href="#note">†</a>', true],
    ['<sup>2</sup>', false],
    ['<sup>th</sup>', false],
    ['<a href="#part">part 3</a>', false],
    ['<a href="https://example.org/3">3</a>', false],
    ['[1]', false],
  ])('takes %s for a footnote marker: %s', (html, is) => {
    expect(walk(root(`<p>word${html} next</p>`), none).text.markers.length).toBe(is ? 1 : 0);
  });
});

describe('a quote on the page', () => {
  it.each([
    [
      '<p>The <a href="x">quick</a> <em>brown</em> fox.</p>',
      'The quick brown fox.',
      ['The ', 'quick', 'brown', ' fox.'],
    ],
    ['<p>First.</p><p>Second.</p>', 'First. Second.', ['First.', 'Second.']],
    ['<p>First.</p>\n<p>Second.</p>', 'First. Second.', ['First.', 'Second.']],
    ['<div>“one”</div><div>two</div>', '"one" two', ['“one”', 'two']],
    [
      '<p>The dam<sup>[1]</sup> broke<sup><a href="#2">2</a></sup> early.</p>',
      'The dam broke early.',
      ['The dam', '[1]', ' broke', '2', ' early.'],
    ],
    ['<p dir="rtl">ראש <b>הממשלה</b> נולד</p>', 'הממשלה נולד', ['הממשלה', ' נולד']],
    ['<p>10<sup>5</sup> grains</p>', '105 grains', ['10', '5', ' grains']],
  ])('%s: %s', (html, quote, pieces) => {
    expect(anchored(html, quote)).toEqual(pieces);
  });

  it('is not underlined where the site excludes text inside it', () => {
    const html = '<p>The dam<i class="x">[edit]</i> broke.</p>';
    expect(anchored(html, 'The dam broke.', '', (element) => element.className === 'x')).toEqual([
      'The dam',
      ' broke.',
    ]);
  });

  it('has no place any more once its text changed, moved or went', () => {
    const article = root('<p>One two</p><p>three four</p>');
    const walked = walk(article, none);
    const pieces = piecesOf(walked, 0, 12)!;
    expect(pieces.every(isIntact)).toBe(true);
    walked.nodes[1]!.data = 'three five';
    expect(piecesOf(walked, 0, 12)).toBeNull();
    expect(piecesOf(walked, 0, 7)).not.toBeNull();
    article.firstElementChild!.remove();
    expect(piecesOf(walked, 0, 7)).toBeNull();
    expect(pieces.map(isIntact)[0]).toBe(false);
  });
});

describe('a sliced walk', () => {
  const paragraphs = '<p>word</p>'.repeat(1_000);

  function yielder(onRest: () => void = () => undefined) {
    let now = 0;
    let rests = 0;
    return {
      sliceMs: 8,
      now: () => (now += 3),
      async yieldToPage() {
        rests++;
        onRest();
      },
      get rests() {
        return rests;
      },
    };
  }

  it('rests between slices and reads the same', async () => {
    const article = root(paragraphs);
    const slow = yielder();
    const sliced = await runInSlices(walkSteps(article, none), slow, () => false);
    expect(sliced!.text).toEqual(walk(article, none).text);
    expect(slow.rests).toBeGreaterThan(3);
  });

  it('is given up when the page changes under it', async () => {
    const article = root(paragraphs);
    let changed = false;
    const sliced = await runInSlices(
      walkSteps(article, none),
      yielder(() => (changed = true)),
      () => changed,
    );
    expect(sliced).toBeNull();
  });
});
