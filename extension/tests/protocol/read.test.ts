import { describe, expect, it } from 'vitest';

import * as read from '../../src/protocol/read';

describe('an instant', () => {
  it.each(['2024-02-29T23:59:59.123Z', '2024-01-01T00:00Z', '0001-01-01T00:00:00Z', '2025-12-31T10:00:00.123456789Z'])(
    'is %s',
    (value) => expect(read.instant(value, 'x')).toBe(value),
  );

  it.each([
    '2023-02-29T00:00:00Z',
    '0000-01-01T00:00:00Z',
    '2024-04-31T00:00:00Z',
    '2024-01-01T00:00:00+00:00',
    '2024-01-01T24:00:00Z',
    '2024-01-01',
    '',
  ])('is not %s', (value) => expect(() => read.instant(value, 'x')).toThrow(read.Malformed));
});

describe('an address of the web', () => {
  it('loses the white space around it', () => {
    expect(read.webUrl('  https://a.example/b ', 'x')).toBe('https://a.example/b');
  });

  it.each(['javascript:alert(1)', 'mailto:a@b.example', 'data:text/plain,x', '/relative', 'https://', ''])(
    'is not %s',
    (value) => expect(() => read.webUrl(value, 'x')).toThrow(read.Malformed),
  );
});

describe('a count', () => {
  it.each([0, 1, 1.0, Number.MAX_SAFE_INTEGER])('is %d', (value) => expect(read.count(value, 'x')).toBe(value));
  it.each([-1, 1.5, '1', true, null, Number.NaN, 2 ** 53])('is not %s', (value) => {
    expect(() => read.count(value, 'x')).toThrow(read.Malformed);
  });
});

describe('digits', () => {
  it.each(['12\n', '１２', '', ' 1'])('are not %j', (value) => {
    expect(() => read.digits(value, 'x')).toThrow(read.Malformed);
  });
});

const shape = { name: read.nonEmpty, age: read.optional(read.count) };

describe('an object', () => {
  it('may lack what is optional', () => {
    expect(read.exactly(shape)({ name: 'a' }, 'x')).toEqual({ name: 'a' });
    expect(read.exactly(shape)({ name: 'a', age: 3 }, 'x')).toEqual({ name: 'a', age: 3 });
  });

  it('may not have null for what is optional', () => {
    expect(() => read.exactly(shape)({ name: 'a', age: null }, 'x')).toThrow('x.age');
  });

  it('is refused with a field too many where it must be exact, and loses it where not', () => {
    expect(() => read.exactly(shape)({ name: 'a', extra: 1 }, 'x')).toThrow('x.extra');
    expect(read.having(shape)({ name: 'a', extra: 1 }, 'x')).toEqual({ name: 'a' });
  });

  it('does not take a field from its prototype, nor pass one on', () => {
    const inherited = Object.create({ name: 'a' }) as object;
    expect(() => read.having(shape)(inherited, 'x')).toThrow('x.name');
    const polluted: unknown = JSON.parse('{"name": "a", "__proto__": {"age": 1}}');
    expect(read.having(shape)(polluted, 'x')).toEqual({ name: 'a' });
    expect(() => read.exactly(shape)(polluted, 'x')).toThrow('__proto__');
  });

  it.each([null, [], 'a', 1, undefined])('is not %j', (value) => {
    expect(() => read.having(shape)(value, 'x')).toThrow(read.Malformed);
  });

  it('names the place of what is wrong and never the value', () => {
    const deep = read.having({ list: read.list(read.having(shape)) });
    expect(() => deep({ list: [{ name: 'a' }, { name: 7_777 }] }, 'x')).toThrow(/x\.list\[1\]\.name(?!.*7777)/);
  });
});

describe('one of several', () => {
  const either = read.oneOf('kind', {
    a: read.exactly({ kind: read.literal('a'), n: read.count }),
    b: read.exactly({ kind: read.literal('b') }),
  });

  it('is distinguished by its tag', () => {
    expect(either({ kind: 'a', n: 1 }, 'x')).toEqual({ kind: 'a', n: 1 });
    expect(() => either({ kind: 'b', n: 1 }, 'x')).toThrow('x.n');
  });

  it.each(['c', 'toString', '__proto__', 1, undefined])('has no tag %s', (kind) => {
    expect(() => either({ kind }, 'x')).toThrow(read.Malformed);
  });
});
