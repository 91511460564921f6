/**
 * Reading what others sent: a reader either returns a fresh value made only of what it checked, or throws `Malformed`.
 *
 * Nothing that was not read is passed on, so an unexpected key cannot travel from a server or a page's process
 * into storage or onto the screen. What makes readers is marked for the bundler, which leaves out those that are never called.
 *
 * Units: string lengths count UTF-16 units. Source: docs/protocol.md 2.0.
 */

/** A value is not what it should be; `at` names the place, never the value. */
export class Malformed extends Error {
  constructor(
    readonly at: string,
    expected: string,
  ) {
    super(`${at}: expected ${expected}`);
  }
}

export type Read<T> = (value: unknown, at: string) => T;

/** A field that may be absent; null is something else and is refused. */
export interface Optional<T> {
  readonly read: Read<T>;
}

type Fields = Readonly<Record<string, Read<unknown> | Optional<unknown>>>;

type Shape<F extends Fields> = {
  [K in keyof F as F[K] extends Read<unknown> ? K : never]: F[K] extends Read<infer T> ? T : never;
} & { [K in keyof F as F[K] extends Read<unknown> ? never : K]?: F[K] extends Optional<infer T> ? T : never };

/** What a reader returns. */
export type Of<R> = R extends Read<infer T> ? T : never;

export const text: Read<string> = (value, at) => {
  if (typeof value !== 'string') throw new Malformed(at, 'a string');
  return value;
};

export const nonEmpty: Read<string> = (value, at) => {
  if (text(value, at) === '') throw new Malformed(at, 'a string that is not empty');
  return value as string;
};

/** Units: UTF-16 units, and UTF-8 bytes. */
const MAX_TEXT = 500_000;

/** A post's text, within what the server takes. */
export const contentText: Read<string> = (value, at) => {
  const observed = nonEmpty(value, at);
  if (observed.length > MAX_TEXT || new TextEncoder().encode(observed).length > MAX_TEXT) {
    throw new Malformed(at, `at most ${MAX_TEXT} bytes`);
  }
  return observed;
};

export const flag: Read<boolean> = (value, at) => {
  if (typeof value !== 'boolean') throw new Malformed(at, 'true or false');
  return value;
};

export const count: Read<number> = (value, at) => {
  if (!Number.isSafeInteger(value) || (value as number) < 0) throw new Malformed(at, 'a whole number from 0');
  return value as number;
};

export const nothing: Read<null> = (value, at) => {
  if (value !== null) throw new Malformed(at, 'null');
  return value;
};

/** A string of a given form. */
/* @__NO_SIDE_EFFECTS__ */ export function matching(pattern: RegExp, named: string): Read<string> {
  return (value, at) => {
    if (!pattern.test(text(value, at))) throw new Malformed(at, named);
    return value as string;
  };
}

export const digits = matching(/^[0-9]+$/, 'digits');

const INSTANT = /^(?!0000)(\d{4})-(\d\d)-(\d\d)T(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d+)?)?Z$/;

/** A date and time that ends in `Z`, of a day that exists. */
export const instant: Read<string> = (value, at) => {
  const parts = INSTANT.exec(text(value, at));
  if (parts === null) throw new Malformed(at, 'a date and time in UTC');
  const [year, month, day] = [Number(parts[1]), Number(parts[2]), Number(parts[3])];
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) throw new Malformed(at, 'a day that exists');
  return value as string;
};

/** An address of the web, without the white space around it. */
export const webUrl: Read<string> = (value, at) => {
  const trimmed = text(value, at).trim();
  if (!isWebUrl(trimmed)) throw new Malformed(at, 'an address that begins with http or https');
  return trimmed;
};

/** Addresses of pictures; what this browser alone can show (`blob:`, another extension's) is left out. */
export const webUrls: Read<string[]> = (value, at) =>
  list(text)(value, at)
    .map((address) => address.trim())
    .filter(isWebUrl);

export function isWebUrl(address: string): boolean {
  if (!URL.canParse(address)) return false;
  const { protocol } = new URL(address);
  return protocol === 'https:' || protocol === 'http:';
}

/* @__NO_SIDE_EFFECTS__ */ export function literal<const T extends string | number>(...options: readonly T[]): Read<T> {
  return (value, at) => {
    if (!options.includes(value as T)) throw new Malformed(at, `one of ${options.join(', ')}`);
    return value as T;
  };
}

/* @__NO_SIDE_EFFECTS__ */ export function nullable<T>(read: Read<T>): Read<T | null> {
  return (value, at) => (value === null ? null : read(value, at));
}

/* @__NO_SIDE_EFFECTS__ */ export function optional<T>(read: Read<T>): Optional<T> {
  return { read };
}

/* @__NO_SIDE_EFFECTS__ */ export function list<T>(
  read: Read<T>,
  size: { readonly min?: number; readonly max?: number } = {},
): Read<T[]> {
  const { min = 0, max = Number.MAX_SAFE_INTEGER } = size;
  return (value, at) => {
    if (!Array.isArray(value)) throw new Malformed(at, 'a list');
    if (value.length < min || value.length > max) throw new Malformed(at, `a list of ${min} to ${max}`);
    return value.map((item, index) => read(item, `${at}[${index}]`));
  };
}

/** An object with these fields and no others. */
/* @__NO_SIDE_EFFECTS__ */ export function exactly<const F extends Fields>(fields: F): Read<Shape<F>> {
  const read = having(fields);
  return (value, at) => {
    const known = read(value, at);
    for (const key of Object.keys(value as object)) {
      if (!Object.hasOwn(fields, key)) throw new Malformed(`${at}.${key.slice(0, 40)}`, 'no such field');
    }
    return known;
  };
}

/** An object with these fields; others are left behind. */
/* @__NO_SIDE_EFFECTS__ */ export function having<const F extends Fields>(fields: F): Read<Shape<F>> {
  return (value, at) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Malformed(at, 'an object');
    const known: Record<string, unknown> = {};
    for (const [key, field] of Object.entries(fields)) {
      const present = Object.hasOwn(value, key) && (value as Record<string, unknown>)[key] !== undefined;
      if (typeof field === 'object' && !present) continue;
      const read = typeof field === 'object' ? field.read : field;
      known[key] = read(present ? (value as Record<string, unknown>)[key] : undefined, `${at}.${key}`);
    }
    return known as Shape<F>;
  };
}

/** One of several objects, distinguished by one field. */
/* @__NO_SIDE_EFFECTS__ */ export function oneOf<const V extends Readonly<Record<string, Read<unknown>>>>(
  tag: string,
  variants: V,
): Read<Of<V[keyof V]>> {
  const tagged = having({ [tag]: text });
  return (value, at) => {
    const name = (tagged(value, at) as Record<string, string>)[tag]!;
    if (!Object.hasOwn(variants, name))
      throw new Malformed(`${at}.${tag}`, `one of ${Object.keys(variants).join(', ')}`);
    return variants[name]!(value, at) as Of<V[keyof V]>;
  };
}
