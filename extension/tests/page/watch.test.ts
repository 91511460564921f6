// @vitest-environment happy-dom
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { Debounce, watch } from '../../src/page/watch';
import { splitText } from '../../src/page/background';
import { toDisplayedFindings } from '../../src/page/displayed_findings';
import type { Claim, PostState } from '../../src/protocol/status';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe('a debounce', () => {
  it('runs once after the last call', () => {
    let runs = 0;
    const debounce = new Debounce(() => runs++);
    for (let i = 0; i < 3; i++) {
      debounce.schedule(300, 1_500);
      vi.advanceTimersByTime(200);
    }
    expect(runs).toBe(0);
    vi.advanceTimersByTime(100);
    expect(runs).toBe(1);
    vi.advanceTimersByTime(5_000);
    expect(runs).toBe(1);
  });

  it('does not wait for ever on a page that never rests', () => {
    let runs = 0;
    const debounce = new Debounce(() => runs++);
    for (let ms = 0; ms < 6_000; ms += 100) {
      debounce.schedule(300, 1_500);
      vi.advanceTimersByTime(100);
    }
    expect(runs).toBeGreaterThanOrEqual(3);
  });
});

describe('watching a page', () => {
  function stage() {
    const happened: string[] = [];
    const over = new AbortController();
    watch(
      document,
      {
        onSettled: () => happened.push('settled'),
        onMutations: () => true,
        onToneChange: () => happened.push('recoloured'),
        onReturn: () => happened.push('returned'),
        onTick: () => happened.push('pulse'),
      },
      over.signal,
    );
    return { happened, over };
  }

  it('notices a change of the tree, and of the address without one', async () => {
    const { happened, over } = stage();
    document.body.append('new');
    await vi.advanceTimersByTimeAsync(400);
    expect(happened).toEqual(['settled']);
    history.pushState(null, '', '/elsewhere');
    await vi.advanceTimersByTimeAsync(1_200);
    expect(happened.filter((what) => what === 'settled')).toHaveLength(2);
    over.abort();
  });

  it('notices the switch to a dark page', async () => {
    const { happened, over } = stage();
    document.documentElement.className = 'night';
    await vi.advanceTimersByTimeAsync(200);
    expect(happened).toEqual(['recoloured']);
    over.abort();
  });

  it('is over when it is over', async () => {
    const { happened, over } = stage();
    over.abort();
    document.body.append('new');
    await vi.advanceTimersByTimeAsync(5_000);
    expect(happened).toEqual([]);
  });
});

it('cuts page text without cutting a character', () => {
  const raw = 'a'.repeat(64 * 1024 - 1) + '😀' + 'b'.repeat(70_000);
  const pieces = [...splitText(raw)];
  expect(pieces.join('')).toBe(raw);
  for (const piece of pieces) expect(piece.isWellFormed()).toBe(true);
});

describe('what is shown of a status', () => {
  const claim: Claim = { id: 'c', text: 't', context: 'x', summary: 's', reasoning: 'r', sources: [] };
  const prior = { oldClaims: [claim], sourceInvestigationId: 'i' };

  it.each([
    [
      {
        kind: 'investigated',
        provenance: 'CLIENT_FALLBACK',
        claims: [claim, claim],
        investigationId: null,
        corroborationCount: 3,
        checkedAt: null,
      },
      1,
      false,
    ],
    [{ kind: 'not_investigated', prior }, 1, true],
    [{ kind: 'not_investigated', prior: null }, 0, false],
    [
      {
        kind: 'investigating',
        investigationId: 'j',
        pendingCount: 4,
        confirmed: [claim],
        prior,
        trouble: null,
        wanted: false,
      },
      1,
      true,
    ],
    [
      {
        kind: 'investigating',
        investigationId: 'j',
        pendingCount: 4,
        confirmed: [claim],
        prior: null,
        trouble: null,
        wanted: false,
      },
      0,
      false,
    ],
    [{ kind: 'failed' }, 0, false],
    [{ kind: 'checking' }, 0, false],
  ] as [PostState, number, boolean][])('%j', (state, count, interim) => {
    const { findings, info: standing } = toDisplayedFindings({ state, proof: null }, 'https://s.test/investigations/i');
    expect(findings).toHaveLength(count);
    expect(standing.interim).toBe(interim);
    if (count > 0) expect(standing.publicUrl).toBe('https://s.test/investigations/i');
  });
});
