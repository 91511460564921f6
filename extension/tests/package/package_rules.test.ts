import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';

import { complaintsOf, MAX_ZIP_BYTES, tooLarge, zippedBytes } from '../../scripts/package_rules.mjs';
import { requirement } from '../requirement';

const known = { code: 'UNSAFE_VAR_ASSIGNMENT' };

describe('the linter’s report', () => {
  it('may hold the one known warning', () => {
    expect(complaintsOf({ errors: [], warnings: [known] })).toEqual([]);
  });

  it.each([
    [{ errors: [{ code: 'JSON_INVALID', message: 'bad', file: 'manifest.json' }], warnings: [] }, 'JSON_INVALID'],
    [{ errors: [], warnings: [known, { code: 'MISSING_DATA_COLLECTION_PERMISSIONS' }] }, 'MISSING_DATA'],
    [{ errors: [], warnings: [known, known] }, 'more than once'],
  ])('is refused otherwise: %j', (report, part) => {
    expect(complaintsOf(report).join()).toContain(part);
  });
});

describe('the size', () => {
  it('counts what a zip compresses and what it cannot', () => {
    expect(zippedBytes([['a.js', Buffer.alloc(1_000_000)]])).toBeLessThan(2_000);
    expect(zippedBytes([['a.bin', randomBytes(1_000_000)]])).toBeGreaterThan(1_000_000);
  });

  it(requirement('FS-43', 'The package stays below 300 KiB'), () => {
    expect(tooLarge('package', MAX_ZIP_BYTES - 1)).toBeNull();
    expect(tooLarge('package', MAX_ZIP_BYTES)).toContain('package');
  });
});
