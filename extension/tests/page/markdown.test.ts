// @vitest-environment happy-dom
import { describe, expect, it } from 'vitest';

import { safeHref, renderMarkdown } from '../../src/ui/markdown';

function html(markdown: string): string {
  const box = document.createElement('div');
  box.append(renderMarkdown(document, markdown));
  return box.innerHTML;
}

describe('reasoning', () => {
  it.each([
    ['one *two* **three** ~~four~~', '<p>one <em>two</em> <strong>three</strong> <s>four</s></p>'],
    ['- a\n- b', '<ul><li>a</li><li>b</li></ul>'],
    ['# Big', '<h3>Big</h3>'],
    ['`a<b`', '<p><code>a&lt;b</code></p>'],
    ['> quoted', '<blockquote><p>quoted</p></blockquote>'],
    ['line\nbreak', '<p>line<br>break</p>'],
    ['    code <i>', '<pre>code &lt;i&gt;</pre>'],
    ['3. c\n4. *d*', '<ol><li>c</li><li><em>d</em></li></ol>'],
    ['- a\n\n  b', '<ul><li><p>a</p><p>b</p></li></ul>'],
    ['a\n\n---', '<p>a</p><hr>'],
    ['1 &lt; 2 &amp; \\*3&#8239;km', '<p>1 &lt; 2 &amp; *3\u202fkm</p>'],
    ['a <b>bold</b>', '<p>a &lt;b&gt;bold&lt;/b&gt;</p>'],
    [
      '| a | b |\n|---|---|\n| *c* | d |',
      '<table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td><em>c</em></td><td>d</td></tr></tbody></table>',
    ],
  ])('%j', (markdown, expected) => {
    expect(html(markdown).replace(/\n/g, '')).toBe(expected);
  });

  it('links only to the web, without a referrer', () => {
    expect(html('[a](https://example.org/x "t")')).toBe(
      '<p><a href="https://example.org/x" target="_blank" rel="noopener noreferrer nofollow">a</a></p>',
    );
    expect(html('see https://example.org')).toContain('href="https://example.org/"');
  });

  it.each([
    '<script>alert(1)</script>',
    '<img src=x onerror=alert(1)>',
    '[a](javascript:alert(1))',
    '[a](JaVaScRiPt&#58;alert(1))',
    '[a](data:text/html,<script>alert(1)</script>)',
    '[a](//example.org/path)',
    '![alt](https://example.org/pixel.gif)',
    '<a href="https://example.org" onclick="x()">a</a>',
    '[a](https://example.org/"onmouseover="x)',
    '<iframe src="https://example.org"></iframe>',
    '<style>*{display:none}</style>',
    '[ref]\n\n[ref]: javascript:alert(1)',
    '**<svg/onload=alert(1)>**',
    '```<img src=x>\n<script>\n```',
  ])('brings in nothing that acts or loads: %s', (markdown) => {
    const box = document.createElement('div');
    box.append(renderMarkdown(document, markdown));
    const allowed = new Set(
      'p em strong s ul ol li blockquote h3 code pre br hr table thead tbody tr th td a span'.split(' '),
    );
    for (const element of box.querySelectorAll('*')) {
      expect(allowed).toContain(element.localName);
      for (const { name, value } of element.attributes) {
        expect(['href', 'target', 'rel']).toContain(name);
        if (name === 'href') expect(value).toMatch(/^https?:/);
      }
    }
  });

  it('is shown as it is written where it nests deeper than calls may', () => {
    const deep = '> '.repeat(25_000);
    expect(renderMarkdown(document, deep).textContent).toBe(deep);
  });

  it('shows a picture by its alternative text', () => {
    expect(html('![a chart](https://example.org/c.png)')).toBe('<p>a chart</p>');
  });
});

it.each([
  ['https://example.org', 'https://example.org/'],
  ['http://example.org/a', 'http://example.org/a'],
  ['javascript:alert(1)', null],
  ['mailto:a@example.org', null],
  ['nonsense', null],
])('%s is linked as %s', (address, href) => {
  expect(safeHref(address)).toBe(href);
});
