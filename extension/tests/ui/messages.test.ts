import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const LOCALES = 'public/_locales';
type Messages = Readonly<Record<string, { readonly message: string }>>;

const messages: Record<string, Messages> = Object.fromEntries(
  readdirSync(LOCALES).map((locale) => [
    locale,
    JSON.parse(readFileSync(join(LOCALES, locale, 'messages.json'), 'utf8')) as Messages,
  ]),
);
const english = messages.en!;

/** What a translation has to keep: the places of what is filled in. */
function places({ message }: { readonly message: string }): string[] {
  return [...new Set(message.match(/\$\d/g) ?? [])].sort();
}

function sources(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(ts|svelte)$/.test(entry.name))
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8'));
}

/** Keys that some text names as a string, or the manifest as `__MSG_…__`. */
function used(texts: readonly string[]): Set<string> {
  return new Set(
    texts.flatMap((text) => [...text.matchAll(/'([a-z]\w+)'|__MSG_(\w+?)__/g)].map((match) => match[1] ?? match[2]!)),
  );
}

describe('the words', () => {
  it('exist in more than one language', () => expect(Object.keys(messages).sort()).toEqual(['de', 'en']));

  it.each(Object.keys(messages))('are complete in %s, with the same places to fill in', (locale) => {
    const own = messages[locale]!;
    expect(Object.keys(own).sort()).toEqual(Object.keys(english).sort());
    for (const [key, message] of Object.entries(own)) {
      expect([key, places(message)]).toEqual([key, places(english[key]!)]);
      expect([key, message.message.trim() === '']).toEqual([key, false]);
    }
  });

  it.each(Object.keys(messages))('say in %s what lets an extension into Ollama, which asks for no key', (locale) =>
    expect(messages[locale]!.failKeyRefusedAdvice!.message).toMatch(
      / OLLAMA_ORIGINS=chrome-extension:\S+moz-extension:/,
    ),
  );

  it('are all used', () => {
    const named = used([...sources('src'), readFileSync('wxt.config.ts', 'utf8')]);
    expect(Object.keys(english).filter((key) => !named.has(key))).toEqual([]);
  });

  it('are seen as unused by this test where no source names them', () => {
    expect([...used(["say('popupOne', [x])", "title: '__MSG_extName__'"])]).toEqual(['popupOne', 'extName']);
  });
});
