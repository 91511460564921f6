import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { LONGEST_MS, delayMs, POLL_MS, Polling, type Round } from '../../src/background/polling';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function polling(found: () => Round | Promise<Round>) {
  let rounds = 0;
  const alarm = { on: false };
  const it = new Polling(async () => (rounds++, found()), {
    start: () => (alarm.on = true),
    stop: () => (alarm.on = false),
  });
  return { it, alarm, rounds: () => rounds };
}

describe('polling', () => {
  it('asks every five seconds while something runs, and leaves an alarm for a worker that ends', async () => {
    const { it, alarm, rounds } = polling(() => 'answered');
    await it.pollNow();
    expect([rounds(), alarm.on]).toEqual([1, true]);
    await vi.advanceTimersByTimeAsync(3 * POLL_MS);
    expect(rounds()).toBe(4);
  });

  it('stops, timer and alarm, once nothing runs', async () => {
    let found: Round = 'answered';
    const { it, alarm, rounds } = polling(() => found);
    await it.pollNow();
    found = 'idle';
    await vi.advanceTimersByTimeAsync(POLL_MS);
    expect([rounds(), alarm.on, vi.getTimerCount()]).toEqual([2, false, 0]);
  });

  it('has one round at a time; who asks in between gets one that begins later', async () => {
    let release: (found: Round) => void = () => undefined;
    const { it, rounds } = polling(() => new Promise<Round>((resolve) => (release = resolve)));
    const first = it.pollNow();
    const second = it.pollNow();
    const third = it.pollNow();
    expect(rounds()).toBe(1);
    release('answered');
    await vi.waitUntil(() => rounds() === 2);
    release('idle');
    await Promise.all([first, second, third]);
    expect(rounds()).toBe(2);
  });

  it('asks ever more rarely while in trouble, up to 30 s, and at once normally again', async () => {
    let found: Round = 'trouble';
    const { it, rounds } = polling(() => found);
    await it.pollNow();
    await vi.advanceTimersByTimeAsync(2 * POLL_MS - 1);
    expect(rounds()).toBe(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(rounds()).toBe(2);
    found = 'answered';
    await vi.advanceTimersByTimeAsync(delayMs(2));
    expect(rounds()).toBe(3);
    await vi.advanceTimersByTimeAsync(POLL_MS);
    expect(rounds()).toBe(4);
  });

  it('survives a round that breaks', async () => {
    const silent = vi.spyOn(console, 'error').mockImplementation(() => undefined);
    const { it, alarm, rounds } = polling(() => {
      throw new Error('broken');
    });
    await it.pollNow();
    await vi.advanceTimersByTimeAsync(delayMs(1));
    expect([rounds(), alarm.on, silent.mock.calls.length]).toEqual([2, true, 2]);
  });

  it('never pauses longer than 30 s', () => {
    expect([0, 1, 2, 3, 100].map(delayMs)).toEqual([5_000, 10_000, 20_000, LONGEST_MS, LONGEST_MS]);
  });
});
