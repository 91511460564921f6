import { describe, expect, it } from 'vitest';

import { anchorClaims } from '../../src/anchoring';
import { CORRECTIONS, CORRECTIONS_BESIDE_THE_QUOTE } from './corrections';

const BEFORE = 'This page was written by a resident of the valley. ';
const AFTER = ' The next paragraph is about something else entirely.';

function outcome(raw: string, text: string, context: string): string {
  return anchorClaims({ raw, breaks: [], markers: [] }, [{ id: 'c', text, context }])[0]!.outcome;
}

describe('a corrected sentence', () => {
  it('is tried in more than sixty ways', () => {
    expect(CORRECTIONS.length).toBeGreaterThanOrEqual(60);
    for (const [, checked, now] of CORRECTIONS) expect(now).not.toBe(checked);
  });

  it.each(CORRECTIONS)('%s: %s', (_kind, checked, now) => {
    for (const context of ['', BEFORE + checked + AFTER]) {
      expect(outcome(BEFORE + checked + AFTER, checked, context)).toBe('anchored');
      expect(outcome(BEFORE + now + AFTER, checked, context)).toBe('changed');
    }
  });

  it.each(CORRECTIONS)('%s without its full stop: %s', (_kind, checked, now) => {
    const quote = checked.replace(/[.。]$/, '');
    expect(outcome(BEFORE + checked + AFTER, quote, '')).toBe('anchored');
    expect(outcome(BEFORE + now + AFTER, quote, '')).toBe('changed');
  });

  it.each(CORRECTIONS_BESIDE_THE_QUOTE)('beside the quote: %s / %s', (quote, checked, now) => {
    const context = BEFORE + checked + AFTER;
    expect(outcome(context, quote, context)).toBe('anchored');
    expect(outcome(BEFORE + now + AFTER, quote, context)).not.toBe('anchored');
  });
});
