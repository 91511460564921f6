export interface LinterReport {
  readonly errors: readonly { readonly code: string; readonly message: string; readonly file?: string }[];
  readonly warnings: readonly { readonly code: string }[];
}

export const MAX_ZIP_BYTES: number;
export function complaintsOf(report: LinterReport): string[];
export function zippedBytes(files: readonly (readonly [name: string, bytes: Uint8Array])[]): number;
export function tooLarge(name: string, bytes: number): string | null;
