/** The name of a test, or of a group, that proves a row of docs/requirements. `python -m tests.requirements` compares it. */
export function requirement(row: string, title: string): string {
  return `${row}: ${title}`;
}
