/**
 * What a page states about itself in its head: JSON-LD, `meta` elements, dates.
 *
 * It is another's data: every value is checked for its type, and nothing that cannot be parsed stops a reading.
 */

export type Fields = Record<string, unknown>;

/** The JSON-LD objects below a node, those in arrays and graphs too, in document order. */
export function jsonLd(scope: ParentNode): Fields[] {
  return [...scope.querySelectorAll('script[type="application/ld+json"]')].flatMap((script) => {
    try {
      return objects(JSON.parse(script.textContent));
    } catch {
      return [];
    }
  });
}

function objects(value: unknown): Fields[] {
  if (Array.isArray(value)) return value.flatMap(objects);
  if (typeof value !== 'object' || value === null) return [];
  const fields = value as Fields;
  return [fields, ...objects(fields['@graph'])];
}

/** The content of the first `meta` with one of these names that has any; names in order of preference. */
export function meta(doc: Document, ...names: string[]): string | null {
  for (const name of names) {
    const found = doc.querySelectorAll(`meta[name="${name}"],meta[property="${name}"],meta[itemprop="${name}"]`);
    for (const element of found) {
      const content = element.getAttribute('content')?.trim();
      if (content) return content;
    }
  }
  return null;
}

/** A date in the one form that the server reads; null if the value is not a date. */
export function isoDate(value: unknown): string | null {
  if (typeof value !== 'string') return null;
  const date = new Date(value.trim());
  if (value.trim() === '' || Number.isNaN(date.getTime())) return null;
  const iso = date.toISOString();
  return /^(?!0000)\d{4}-/.test(iso) ? iso : null;
}

/** When JSON-LD below a node says that something was published. */
export function statedDate(scope: ParentNode): string | null {
  const dates = jsonLd(scope).map((fields) => isoDate(fields.datePublished) ?? isoDate(fields.dateCreated));
  return dates.find((date) => date !== null) ?? null;
}

/** The first date shown below a node. */
export function shownDate(scope: ParentNode): string | null {
  return isoDate(scope.querySelector('time[datetime]')?.getAttribute('datetime'));
}

/** When the page's head says that it was published. */
export function metaDate(doc: Document): string | null {
  return isoDate(
    meta(doc, 'article:published_time', 'og:published_time', 'datePublished', 'publish_date', 'date', 'pubdate'),
  );
}
