/**
 * A real Chromium with our code in it. Pages stand under their true addresses, and nothing leaves the machine: every
 * request but that for the page itself is refused.
 *
 * What is opened may be anything: a page that never ends loading, that leaves for elsewhere or takes its process down
 * costs its own answer and no other. `renew` gives the next page a clean start.
 */

import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { chromium, type Browser, type Page } from 'playwright-core';
import { build } from 'vite';
import { BUNDLE } from './bundle.mjs';

export const BLANK = '<!doctype html><meta charset="utf-8"><title>blank</title>';

/** Inline handlers of recorded HTML must not run; what the test itself evaluates must. */
const CALM = "default-src 'none'; script-src 'unsafe-eval'";
const EXECUTABLES = [
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
];
const FLAGS = [
  '--host-resolver-rules=MAP * ~NOTFOUND',
  '--disable-background-networking',
  '--disable-gpu',
  '--no-first-run',
];
/** Where a page stands that belongs to no site. */
export const NOWHERE = 'https://blank.example/';
const WITHIN_MS = 30_000;

/** There is no browser to run. */
export class NoChromium extends Error {}

export class Chromium {
  readonly #code: string;
  readonly #browser: Browser;
  #page: Page;
  #served: { address: string; body: string; calm: boolean } | null = null;

  private constructor(browser: Browser, page: Page, code: string) {
    this.#browser = browser;
    this.#page = page;
    this.#code = code;
  }

  /** Start with our code in every page, and with `more` beside it. */
  static async start(more = ''): Promise<Chromium> {
    const code = await bundled(fileURLToPath(new URL('page.ts', import.meta.url)));
    const browser = await chromium.launch({
      executablePath: executable(),
      headless: true,
      args: FLAGS,
      chromiumSandbox: process.getuid?.() !== 0,
    });
    const started = new Chromium(browser, await browser.newPage(), `${code}\n${more}`);
    await started.#prepare();
    return started;
  }

  async #prepare(): Promise<void> {
    const page = this.#page;
    page.setDefaultTimeout(WITHIN_MS);
    await page.addInitScript({ content: this.#code });
    await page.route('**/*', async (route) => {
      const request = route.request();
      if (!request.isNavigationRequest() || request.frame() !== page.mainFrame()) return route.abort();
      const served = this.#served;
      // Nothing stands there: the browser stays where it is.
      if (served?.address !== address(request.url())) return route.fulfill({ status: 204 });
      const headers = served.calm ? { 'content-security-policy': CALM } : {};
      return route.fulfill({ body: served.body, contentType: 'text/html; charset=utf-8', headers });
    });
  }

  /** Go on with another page in place of one that may have been taken down. */
  async renew(): Promise<void> {
    const taken = this.#page;
    this.#page = await this.#browser.newPage();
    this.#served = null;
    await this.#prepare();
    await taken.close().catch(() => undefined);
  }

  /** Load a page under its own address; `calm` keeps its scripts from running. */
  async open(url: string, html: string, { calm = false } = {}): Promise<void> {
    const wanted = address(url);
    // Going to a fragment of the page that is open would not load it.
    if (this.#served?.address === wanted && url.includes('#')) await this.#page.goto('about:blank');
    this.#served = { address: wanted, body: html, calm };
    await this.#page.goto(url, { waitUntil: 'commit' });
    // A page that tries to leave never tells Playwright that it is loaded, and `waitForFunction` takes twice the CPU.
    await inTime(this.#page.evaluate(parsed));
  }

  async openBlank(url = NOWHERE): Promise<void> {
    await this.open(url, BLANK, { calm: true });
  }

  /** Ask the page one question of many inputs in one round trip; `whom` names the function that answers. */
  async ask(question: string, inputs: readonly unknown[], whom = 'askVectors'): Promise<unknown[]> {
    const answer = await inTime(
      this.#page.evaluate(
        ({ whom, question, given }) =>
          (globalThis as unknown as Record<string, (question: string, given: string) => string>)[whom]?.(
            question,
            given,
          ),
        { whom, question, given: JSON.stringify(inputs) },
      ),
    );
    if (answer === undefined) throw new Error(`the page has no ${whom}`);
    return JSON.parse(answer) as unknown[];
  }

  async close(): Promise<void> {
    await this.#browser.close();
  }
}

/** How the browser asks for a page: in its own spelling, without fragment and password, and not over bare HTTP. */
function address(url: string): string {
  const asked = new URL(url);
  asked.hash = asked.username = asked.password = '';
  // Sites that are known to speak HTTPS alone are asked so whatever the address says.
  if (asked.protocol === 'http:') asked.protocol = 'https:';
  return asked.href;
}

/** In the page: wait for the whole document. */
async function parsed(): Promise<void> {
  while (document.readyState === 'loading')
    await new Promise((go) => document.addEventListener('readystatechange', go, { once: true }));
}

/** What a page answers while anybody waits for it. */
async function inTime<T>(answer: Promise<T>): Promise<T> {
  let late: ReturnType<typeof setTimeout> | undefined;
  const end = new Promise<never>((_, refuse) => {
    late = setTimeout(() => refuse(new Error('the page does not answer')), WITHIN_MS);
  });
  try {
    return await Promise.race([answer, end]);
  } finally {
    clearTimeout(late);
  }
}

function executable(): string {
  const given = process.env.CHROMIUM;
  const found = given ? [given].find(existsSync) : EXECUTABLES.find(existsSync);
  if (found === undefined) throw new NoChromium('no Chromium: install the package chromium, or set CHROMIUM to one');
  return found;
}

async function bundled(entry: string): Promise<string> {
  const built = await build({
    ...BUNDLE,
    build: { write: false, minify: false, lib: { entry, formats: ['iife'], name: 'vectors' } },
  });
  const outputs = (Array.isArray(built) ? built : [built]).flatMap((one) => ('output' in one ? one.output : []));
  const chunk = outputs.find((one) => one.type === 'chunk');
  if (chunk === undefined) throw new Error('the bundler gave no code');
  return chunk.code;
}
