// @vitest-environment happy-dom
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { anchorClaims } from '../../src/anchoring';
import { Annotations } from '../../src/page/annotations';
import { Underlines } from '../../src/page/highlights';
import type { Background, DisplayedFindings } from '../../src/page/ports';
import { NO_FINDINGS } from '../../src/page/ports';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const yielder = { sliceMs: 1e9, now: () => 0, yieldToPage: async () => undefined };

function shown(...quotes: string[]): DisplayedFindings {
  return {
    ...NO_FINDINGS,
    findings: quotes.map((quote, index) => ({
      id: `c${index}`,
      quote,
      context: '',
      summary: 's',
      reasoning: 'r',
      sources: [],
    })),
  };
}

function stage(html: string, anchor: Background['anchor'] = async (text, quotes) => anchorClaims(text, quotes)) {
  document.body.innerHTML = `<article>${html}</article>`;
  const registry = new Map<string, Highlight>();
  const underlines = new Underlines(registry, (ranges) => new Set(ranges) as unknown as Highlight);
  let asked = 0;
  const annotations = new Annotations(
    { anchor: (...question) => (asked++, anchor(...question)) },
    underlines,
    yielder,
    () => ({ root: document.querySelector('article')!, scope: null, excluded: () => false }),
    () => undefined,
  );
  return {
    annotations,
    asked: () => asked,
    words: () =>
      underlines.claimIds.map((id) =>
        underlines
          .piecesOf(id)
          .filter(({ node }) => node.isConnected)
          .map(({ range }) => range.toString())
          .join(''),
      ),
  };
}

const settled = (): Promise<unknown> => vi.advanceTimersByTimeAsync(0);

describe('annotations', () => {
  it('underline what anchors, in the order of the page', async () => {
    const { annotations, words } = stage('<p>First thing. Second thing.</p>');
    annotations.show(shown('Second thing.', 'Nowhere at all here.', 'First thing.'));
    await settled();
    expect(words()).toEqual(['First thing.', 'Second thing.']);
  });

  it('follow a page that is re-rendered', async () => {
    const { annotations, words } = stage('<p>First thing.</p>');
    annotations.show(shown('First thing.'));
    await settled();
    document.querySelector('article')!.innerHTML = '<div>Now: <b>First thing.</b></div>';
    annotations.revalidate();
    await settled();
    expect(words()).toEqual(['First thing.']);
  });

  it('leave a sentence that was corrected', async () => {
    const { annotations, words } = stage('<p>It holds 5 litres.</p>');
    annotations.show(shown('It holds 5 litres.'));
    await settled();
    document.querySelector('p')!.firstChild!.textContent = 'It holds 6 litres.';
    annotations.invalidate();
    annotations.revalidate();
    await settled();
    expect(words()).toEqual([]);
  });

  it('leave words that are replaced within their node at once, and no others', async () => {
    const { annotations, words } = stage('<p>It holds 5 litres.</p><p>It is blue.</p>');
    annotations.show(shown('It holds 5 litres.', 'It is blue.'));
    await settled();
    const text = document.querySelector('p')!.firstChild as Text;
    text.replaceData(9, 1, '6');
    annotations.invalidate();
    expect(words()).toEqual(['It is blue.']);
    text.replaceData(9, 1, '5');
    annotations.invalidate();
    annotations.revalidate();
    await settled();
    expect(words()).toEqual(['It holds 5 litres.', 'It is blue.']);
  });

  it('do not ask again while nothing happened', async () => {
    const { annotations, asked } = stage('<p>First thing.</p>');
    annotations.show(shown('First thing.'));
    await settled();
    annotations.revalidate();
    annotations.revalidate();
    await settled();
    expect(asked()).toBe(1);
  });

  it('use no answer to an older question', async () => {
    const answers: (() => void)[] = [];
    const { annotations, words } = stage('<p>First thing. Second thing.</p>', async (text, quotes) => {
      await new Promise<void>((resolve) => answers.push(resolve));
      return anchorClaims(text, quotes);
    });
    annotations.show(shown('First thing.'));
    await settled();
    annotations.show(shown('Second thing.'));
    await settled();
    answers[1]!();
    await settled();
    answers[0]!();
    await settled();
    expect(words()).toEqual(['Second thing.']);
  });

  it('use no answer about a text that has changed since', async () => {
    let changed = false;
    const { annotations, words } = stage('<p>It holds 5 litres.</p>', async (text, quotes) => {
      if (!changed) {
        document.querySelector('p')!.firstChild!.textContent = 'It holds 6 litres.';
        annotations.invalidate();
        changed = true;
      }
      return anchorClaims(text, quotes);
    });
    annotations.show(shown('It holds 5 litres.'));
    await settled();
    expect(words()).toEqual([]);
    annotations.revalidate();
    await settled();
    expect(words()).toEqual([]);
  });

  it('use no answer if the words around a sentence have changed since', async () => {
    const { annotations, words } = stage('<p><i>It holds </i>5 litres.</p>', async (text, quotes) => {
      document.querySelector('i')!.firstChild!.textContent = 'It never holds ';
      annotations.invalidate();
      return anchorClaims(text, quotes);
    });
    const { findings } = shown('5 litres.');
    annotations.show({ ...NO_FINDINGS, findings: [{ ...findings[0]!, context: 'It holds 5 litres.' }] });
    await settled();
    expect(words()).toEqual([]);
  });

  it('leave a sentence that was corrected around its words while the worker was gone', async () => {
    let gone = false;
    const { annotations, words } = stage('<p><i>It holds </i>5 litres.</p>', async (text, quotes) =>
      gone ? null : anchorClaims(text, quotes),
    );
    const { findings } = shown('5 litres.');
    annotations.show({ ...NO_FINDINGS, findings: [{ ...findings[0]!, context: 'It holds 5 litres.' }] });
    await settled();
    expect(words()).toEqual(['5 litres.']);
    gone = true;
    const said = document.querySelector('i')!;
    said.textContent = 'It never holds ';
    annotations.invalidate();
    annotations.revalidate();
    await settled();
    expect(words()).toEqual([]);
    gone = false;
    said.textContent = 'It holds ';
    await vi.advanceTimersByTimeAsync(1_000);
    expect(words()).toEqual(['5 litres.']);
  });

  it('ask again when the worker was gone', async () => {
    let times = 0;
    const { annotations, words } = stage('<p>First thing.</p>', async (text, quotes) => {
      if (times++ === 0) throw new Error('the worker ended');
      return times === 2 ? null : anchorClaims(text, quotes);
    });
    annotations.show(shown('First thing.'));
    await settled();
    expect(words()).toEqual([]);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(words()).toEqual([]);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(words()).toEqual(['First thing.']);
  });

  it('go when the post goes', async () => {
    const { annotations, words } = stage('<p>First thing.</p>');
    annotations.show(shown('First thing.'));
    await settled();
    annotations.show(NO_FINDINGS);
    await settled();
    expect(words()).toEqual([]);
  });
});
