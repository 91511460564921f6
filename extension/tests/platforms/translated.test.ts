// @vitest-environment happy-dom
import { expect, it } from 'vitest';

import { decide } from '../../src/page/decide';
import { extract, noHtml, type Ready, type Site } from '../../src/platforms/base';
import { runToEnd } from '../../src/platforms/steps';

const URL_ = new URL('https://forum.example/7');

/** A site whose page has one post, and what becomes of that post. */
function decision(): string {
  const root = document.body;
  const content = { platform: 'FORUM', externalId: '7', url: URL_.href, contentText: root.textContent };
  const found: Ready = {
    ...{ kind: 'ready', root, html: noHtml, excluded: () => false, isNamed: true },
    content: { ...content, mediaState: 'text_only', imageUrls: [], imageOccurrences: [], metadata: {} },
  };
  const site = {
    platform: 'FORUM',
    guess: () => '7',
    *read() {
      return found;
    },
  } as unknown as Site;
  return decide(runToEnd(extract(site, document, URL_))).kind;
}

it.each([
  ['Chrome', 'translated-ltr', '<p><font>Wörter.</font></p>'],
  ['Chrome, into a language written from the right,', 'translated-rtl', '<p><font>كلمات.</font></p>'],
  ['Edge', '', '<p _msttexthash="1" _msthash="2">Wörter.</p>'],
])('what %s has translated is nothing that the author wrote', (_, className, html) => {
  document.body.innerHTML = '<p>Words.</p>';
  expect(decision()).toBe('send');
  document.documentElement.className = className;
  document.body.innerHTML = html;
  expect(decision()).toBe('wait');
  document.documentElement.className = '';
  document.body.innerHTML = '<p>Words.</p>';
  expect(decision()).toBe('send');
});
