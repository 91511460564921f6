/** What a check is started with, or why it is not: the reader's choice, consent and permissions, read again each time. */
import { type Choice, consentTo, isCheckedSite, readChoice } from '../settings/checks';
import { readSettings } from '../settings/settings';
import type { Failure } from '../verdict/check';
import { LIMITS, PROMPT, PROMPT_SHA256 } from '../verdict/given';
import type { Job } from '../verdict/job';
import type { Area } from './ports';

export interface CheckDependencies {
  readonly area: Area;
  /** In memory until the browser closes. */
  readonly session: Area;
  hasPermission(pattern: string): Promise<boolean>;
  /** Units: milliseconds since 1970. */
  now(): number;
}

/** Servers and models that refuse a format. */
const NO_FORMAT = 'check:no-format';

/** Prepare the check of a post's words on the page with this address. */
export async function prepareCheck(words: string, url: string, known: CheckDependencies): Promise<Job | Failure> {
  const settings = await readSettings(known.area);
  const choice = readChoice(settings);
  if (choice === null || !isCheckedSite(url, settings)) return { code: 'not_configured' };
  if (settings.verdictConsent !== consentTo(choice)) return { code: 'no_consent' };
  const { model, engine } = choice;
  for (const { pattern, host } of [model.address, ...(engine.name === 'none' ? [] : [engine.address])]) {
    if (!(await known.hasPermission(pattern))) return { code: 'no_permission', host };
  }
  if (words.trim() === '' || Array.from(words).length > LIMITS.postCharacters) return { code: 'unreadable_post' };
  return {
    setup: {
      post: words,
      prompt: await promptOf(choice),
      model: model.name,
      host: model.address.host,
      maxTokens: model.maxTokens,
      engine: engine.name,
      isRouted: model.route === 'openrouter',
      takesFormat: !(await serversWithoutFormat(known.session)).includes(nameOf(model.address.baseUrl, model.name)),
      moment: new Date(known.now()).toISOString(),
      zone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    },
    server: { baseUrl: model.address.baseUrl, key: model.key },
    searchKey: engine.name === 'none' ? '' : engine.key,
  };
}

/** Remember that a job's server refuses a format, until the browser closes. */
export async function rememberNoFormat({ server, setup }: Job, session: Area): Promise<void> {
  const known = await serversWithoutFormat(session);
  await session.set({ [NO_FORMAT]: [...new Set([...known, nameOf(server.baseUrl, setup.model)])] });
}

async function serversWithoutFormat(session: Area): Promise<readonly string[]> {
  const known = (await session.get([NO_FORMAT]))[NO_FORMAT];
  return Array.isArray(known) ? (known as string[]) : [];
}

function nameOf(baseUrl: string, model: string): string {
  return `${baseUrl} ${model}`;
}

async function promptOf({ prompt: own }: Choice): Promise<Job['setup']['prompt']> {
  if (own === '') return { text: PROMPT, version: LIMITS.promptVersion, sha256: PROMPT_SHA256 };
  const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(own));
  const sha256 = [...new Uint8Array(hash)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  return { text: own, version: 'own', sha256 };
}
