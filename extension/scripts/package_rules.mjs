/**
 * What a built package must keep to before it may be offered to a store. Pure over reports and bytes.
 *
 * The one warning that is known comes from Svelte's own template code, which assigns to `innerHTML` from constants.
 */
import { deflateRawSync } from 'node:zlib';

export const MAX_ZIP_BYTES = 140 * 1024;
const KNOWN_WARNING = 'UNSAFE_VAR_ASSIGNMENT';

/** What Mozilla's linter has against a package, beyond the known warning. */
export function complaintsOf(report) {
  const warnings = report.warnings.map(({ code }) => code);
  const unknown = warnings.filter((code) => code !== KNOWN_WARNING);
  return [
    ...report.errors.map(({ code, message, file }) => `error ${code} in ${file ?? 'the package'}: ${message}`),
    ...unknown.map((code) => `new warning ${code}`),
    ...(warnings.length - unknown.length > 1 ? [`${KNOWN_WARNING} more than once: some code of ours does it too`] : []),
  ];
}

/** The size that these files take in a zip. Shapes: `files` is a list of [name, bytes]. */
export function zippedBytes(files) {
  const END = 22;
  const perFile = (name) => 30 + 46 + 2 * Buffer.byteLength(name);
  return files.reduce((sum, [name, bytes]) => sum + perFile(name) + deflateRawSync(bytes, { level: 9 }).length, END);
}

/** Whether a package is small enough; null if it is. */
export function tooLarge(name, bytes) {
  return bytes < MAX_ZIP_BYTES ? null : `${name}: ${bytes} bytes zipped, allowed are fewer than ${MAX_ZIP_BYTES}`;
}
