/** The runner of recorded cases: what passes, what fails, and which differences our rules explain. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { main } from '../../vectors/main';
import { browser } from './browser';
import { LESSWRONG, lesswrong } from './pages';

const chromium = browser();
const WITHIN_MS = 120_000;
let folder = '';
let printed: string[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cases-'));
  printed = [];
});
afterEach(() => rmSync(folder, { recursive: true }));

function write(name: string, cases: unknown): void {
  writeFileSync(join(folder, `${name}.json`), JSON.stringify({ name, what: 'own cases', cases }));
}

/** Run in the browser that all tests share, and leave it a clean page. */
async function run(...args: string[]): Promise<number> {
  const code = await main(args, (line) => printed.push(line), chromium());
  if (code !== 2) await chromium().renew();
  return code;
}

const style = { html: '<style>s{}</style><p>a</p>' };
const post = (contentText: string): object => ({
  adapter: 'LESSWRONG',
  private_or_gated: null,
  result: {
    kind: 'ready',
    content: {
      platform: 'LESSWRONG',
      externalId: 'Ab12',
      url: LESSWRONG,
      contentText,
      mediaState: 'text_only',
      imageUrls: [],
      imageOccurrences: [],
      metadata: { slug: 'a-slug', htmlContent: style.html, authorSlug: null, tags: [], title: 'On bread' },
    },
  },
});
const mapped = (matched: boolean, claim: object, place: object = {}): object => ({
  id: 'm',
  input: { html: '<p>Bread is old. Bread is new.</p>', claims: [claim], allowFuzzy: true, exclude: false },
  output: {
    raw_text: 'Bread is old. Bread is new.',
    normalized_text: 'Bread is old. Bread is new.',
    claims: [{ id: 'c', matched, ...place }],
  },
});

describe('the runner', { timeout: WITHIN_MS }, () => {
  test('passes what is as recorded, or as our rules decide', async () => {
    write('html_text', [
      { id: 'plain', input: { html: '<p>a</p><p>b</p>' }, output: { text: 'a b' } },
      { id: 'policy', input: style, output: { text: 's{}a' }, dom_output: 'a' },
    ]);
    write('adapters', [
      { id: 'kept', input: { url: LESSWRONG, html: lesswrong({ body: style.html }), mw: null }, output: post('a') },
      {
        id: 'counted',
        input: { url: LESSWRONG, html: lesswrong({ body: style.html }), mw: null },
        output: post('s{} a'),
      },
      { id: 'none', input: { url: 'https://a.example/', html: '', mw: null }, output: { adapter: null } },
    ]);
    write('dom_mapper', [
      mapped(true, { id: 'c', text: 'is old', context: '' }, { start: 6, end: 12, range_text: 'is old' }),
      mapped(true, { id: 'c', text: 'Bread', context: '' }, { start: 0, end: 5, range_text: 'Bread' }),
    ]);
    write('somebody_elses', [{ id: 'x', input: 1, output: 2 }]);
    expect(await run(folder)).toBe(0);
    expect(printed.map((line) => line.replace(/ +/g, ' '))).toEqual([
      'adapters 3/3 (1 decided by: never_text)',
      'dom_mapper 2/2 (1 decided by: ambiguous)',
      'html_text 2/2',
      'somebody_elses not run here (1 cases)',
      expect.stringMatching(/never_text: .*\(counted\)$/),
      expect.stringMatching(/ambiguous: .*\(m\)$/),
    ]);
  });

  test('finds a page under whatever spelling of its address', async () => {
    const nowhere = (id: string, url: string): object => ({
      id,
      input: { url, html: '<p>a</p>', mw: null },
      output: { adapter: null },
    });
    write('adapters', [
      nowhere('not ASCII', 'https://a.example/wiki/Köln?q=ä#ö'),
      nowhere('upper case', 'HTTPS://A.EXAMPLE/Wiki'),
      nowhere('name of another script', 'https://bücher.example/'),
      nowhere('default port', 'https://a.example:443'),
      nowhere('password', 'https://me:secret@a.example/'),
      nowhere('always HTTPS', 'http://www.facebook.com/a'),
      nowhere('dots', 'https://a.example/b/../c'),
    ]);
    expect(await run(folder)).toBe(0);
    expect(printed[0]).toMatch(/adapters +7\/7/);
  });

  test('explains a quote beside a sign that may change it, and shows one beside a picture', async () => {
    const beside = (id: string, raw: string, text: string): object => {
      const start = raw.indexOf(text);
      const claim = { id: 'c', matched: true, start, end: start + text.length, range_text: text };
      return {
        id,
        input: { html: `<p>${raw}</p>`, claims: [{ id: 'c', text, context: '' }], allowFuzzy: false, exclude: false },
        output: { raw_text: raw, normalized_text: raw, claims: [claim] },
      };
    };
    write('dom_mapper', [
      ...['Bats are blind🦇', '🦇Bats are blind', '→Bats are blind', '*Bats are blind*', 'Bats are blind™'].map((raw) =>
        beside(raw, raw, 'Bats are blind'),
      ),
      ...['well-known fact/known fact', "it's fine/it", 'up 50% now/up 50', 'see a.example/see a'].map((pair) =>
        beside(pair, ...(pair.split('/') as [string, string])),
      ),
    ]);
    expect(await run(folder)).toBe(0);
    expect(printed[0]).toMatch(/9\/9 +\(4 decided by: joined\)/);
  });

  test('loses one case to whatever a case does, and no other', async () => {
    const page = (id: string, html: string, url = 'https://a.example/'): object => ({
      id,
      input: { url, html, mw: null },
      output: { adapter: null },
    });
    write('adapters', [
      page('no address', '', 'nowhere'),
      page('goes away', '<script>location = "https://b.example/"</script>'),
      page('good', '<p>a</p>'),
      { id: 'no input' },
    ]);
    write('dom_mapper', [
      { id: 'nothing', input: {}, output: {} },
      mapped(false, { id: 'c', text: 'butter', context: '' }),
    ]);
    write('toString', [{ id: 'x', input: 1, output: 2 }]);
    writeFileSync(join(folder, 'z.json'), '{');
    expect(await run(folder)).toBe(1);
    expect(printed.map((line) => line.replace(/ +/g, ' '))).toEqual([
      'adapters 2/4',
      ' first failing: no address, no input',
      expect.stringContaining(' no address: '),
      expect.stringContaining(' no input: '),
      'dom_mapper 1/2',
      ' first failing: nothing',
      expect.stringContaining(' nothing: '),
      'toString not run here (1 cases)',
      expect.stringContaining('z.json is not JSON'),
    ]);
  });

  test('fails what is otherwise, and names it', async () => {
    write('normalize', [
      { id: 'right', input: '“\ud83d”', output: { normalized: '"\ud83d"', length_utf16: 3 } },
      { id: 'text', input: 'a', output: { normalized: 'b' } },
      { id: 'hash', input: 'a', output: { normalized: 'a', sha256: '0' } },
      { id: 'length', input: 'a', output: { normalized: 'a', length_utf16: 2 } },
    ]);
    write('adapters', [
      { id: 'text', input: { url: LESSWRONG, html: lesswrong({ body: style.html }), mw: null }, output: post('s{}') },
    ]);
    write('dom_mapper', [
      mapped(false, { id: 'c', text: 'is old', context: '' }),
      mapped(true, { id: 'c', text: 'is old', context: '' }, { start: 0, end: 5, range_text: 'Bread' }),
      mapped(true, { id: 'c', text: 'old', context: '' }, { start: 9, end: 12, range_text: 'old' }),
    ]);
    expect(await run(folder)).toBe(1);
    expect(printed.map((line) => line.trim().replace(/ +/g, ' ')).slice(0, 6)).toEqual([
      'adapters 0/1',
      'first failing: text',
      'dom_mapper 1/3',
      'first failing: m, m',
      'normalize 1/4',
      'first failing: text, hash, length',
    ]);
  });

  test.each([
    ['no argument', () => [], 'usage'],
    ['two arguments', () => [folder, folder], 'usage'],
    ['no folder', () => [join(folder, 'absent')], 'is no folder'],
    ['an empty folder', () => [folder], 'holds no file of cases'],
  ])('refuses %s', async (_, args, said) => {
    expect(await run(...args())).toBe(2);
    expect(printed.join()).toContain(said);
  });

  test.each([
    ['{', 'is not JSON'],
    ['{"name":"adapters","cases":[1]}', 'is no file of cases'],
    ['null', 'is no file of cases'],
  ])('refuses a file of %s', async (text, said) => {
    writeFileSync(join(folder, 'a.json'), text);
    expect(await run(folder)).toBe(2);
    expect(printed.join()).toContain(said);
  });
});

const RECORDED =
  process.env.OPENERRATA_VECTORS ?? fileURLToPath(new URL('../../../../shared/vectors', import.meta.url));

describe('the recorded cases beside the checkout', () => {
  const there = existsSync(RECORDED); // extra: whoever cloned the repository alone has none

  test.skipIf(!there)('all pass, or differ by a rule', { timeout: 600_000 }, async () => {
    expect(await run(RECORDED), printed.join('\n')).toBe(0);
  });
});
