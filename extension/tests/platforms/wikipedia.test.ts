/** Wikipedia's rules, on pages loaded by a real browser under the site's own addresses. */
import { describe, expect, test } from 'vitest';
import { browser, outcomes } from './browser';
import { WIKIPEDIA, wikipedia } from './pages';

const chromium = browser();
const { outcome, content } = outcomes(chromium);

describe('Wikipedia', () => {
  const INDEX = 'https://de.wikipedia.org/w/index.php?title=Brot';

  test('an article, mobile', async () => {
    const url = 'https://de.m.wikipedia.org/wiki/Brot';
    const body = `<p>Brot<sup class="reference">[1]</sup> ist alt.</p><h2>Siehe auch</h2><p>Mehl</p><img src="//a.example/b.png">
      <div class="mw-heading"><h2>Einzelnachweise</h2></div><section><p>Quelle</p></section>`;
    const found = await content(url, wikipedia({ body }, { wgRevisionTimestamp: '20260102030405' }));
    expect(found).toMatchObject({
      platform: 'WIKIPEDIA',
      externalId: 'de:12',
      url,
      contentText: 'Brot ist alt. Siehe auch Mehl',
      mediaState: 'has_images',
      imageOccurrences: [{ originalIndex: 0, normalizedTextOffset: 29, sourceUrl: 'https://a.example/b.png' }],
    });
    expect(found.metadata).toMatchObject({
      language: 'de',
      title: 'Brot',
      pageId: '12',
      revisionId: '34',
      displayTitle: 'Brot',
      lastModifiedAt: '2026-01-02T03:04:05.000Z',
    });
    expect(found.metadata.htmlContent).not.toContain('Quelle');
  });

  test.each([
    ['de', 'Brot. Notes et sources Notes Portail'],
    ['fr', 'Brot. Nachweise Quelle. Leiste.'],
  ])('an article whose element does not say that it is %s', async (language, text) => {
    const body = `<p>Brot.</p><h2>Nachweise</h2><p>Quelle.</p><div class="NavFrame">Leiste.</div><h2>Notes et sources</h2>
      <p>Notes</p><ul class="bandeau-portail"><li>Portail</ul>`;
    const html = wikipedia({ body }).replace(/ lang="[a-z]+"/g, '');
    const found = await content(`https://${language}.wikipedia.org/wiki/Brot`, html);
    expect(found.contentText).toBe(text);
  });

  test.each([`${INDEX}&action=view`, `${INDEX}&oldid=34`, `${WIKIPEDIA}?redirect=no`])(
    'to be read: %s',
    async (url) => {
      expect((await content(url, wikipedia({}, { wgAction: 'view' }))).externalId).toBe('de:12');
    },
  );

  test('the numbers in a call that sets them', async () => {
    const html = wikipedia().replace(/RLCONF=(.*?);</, 'mw = {config: {set() {}}}; mw.config.set($1);<');
    expect((await content('https://de.wikipedia.org/?curid=12', html)).metadata.title).toBe('Brot');
  });

  test('elements that pose as variables', async () => {
    const html = wikipedia({ body: '<p id="mw">Brot.</p><a id="RLCONF" name="config">x</a>' });
    expect((await content(WIKIPEDIA, html)).externalId).toBe('de:12');
  });

  test('words that look like the numbers', async () => {
    const html = wikipedia({}, { aTitle: '","wgArticleId":99,"', wgArticleId: 12 });
    expect((await content(WIKIPEDIA, html)).externalId).toBe('de:12');
  });

  test.each([
    [
      'a talk page',
      'https://de.wikipedia.org/wiki/Diskussion:Brot',
      wikipedia({}, { wgNamespaceNumber: 1 }),
      'unsupported',
    ],
    ['an English talk page', 'https://en.wikipedia.org/wiki/Talk:Bread', wikipedia(), 'missing_identity'],
    [
      'an unsaved draft',
      `${INDEX}&action=submit`,
      wikipedia({}, { wgAction: 'submit', wgRevisionId: 0 }),
      'unsupported',
    ],
    ['a draft by its own word', WIKIPEDIA, wikipedia({}, { wgAction: 'submit' }), 'unsupported'],
    ['an editor', `${INDEX}&action=edit`, wikipedia(), 'unsupported'],
    ['an editor in the page', `${WIKIPEDIA}?veaction=edit`, wikipedia(), 'unsupported'],
    ['a history', `${INDEX}&action=history`, wikipedia(), 'unsupported'],
    ['a comparison', `${INDEX}&diff=34&oldid=33`, wikipedia(), 'unsupported'],
    ['a comparison by its own word', WIKIPEDIA, wikipedia({}, { wgDiffNewId: 34 }), 'unsupported'],
    ['a revision that is not stored', WIKIPEDIA, wikipedia({}, { wgRevisionId: 0 }), 'missing_identity'],
    ['no revision', WIKIPEDIA, wikipedia({}, { wgRevisionId: null }), 'missing_identity'],
    ['no words', WIKIPEDIA, wikipedia({ body: '<div class="navbox">x</div>' }), 'unsupported'],
    ['no article yet', WIKIPEDIA, wikipedia().replace('mw-content-text', 'x'), 'hydrating'],
  ])('not ready: %s', async (_, url, html, reason) => {
    expect(await outcome(url, html)).toMatchObject({ kind: 'not_ready', reason });
  });

  test.each(['<video></video>', '<audio></audio>', '<span class="mw-tmh-play">x</span>'])(
    'media: %s',
    async (media) => {
      expect((await content(WIKIPEDIA, wikipedia({ body: `<p>Brot.</p>${media}` }))).mediaState).toBe('has_video');
    },
  );
});
