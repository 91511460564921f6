/**
 * A real Chromium with our code in it. Pages stand under their true addresses, and nothing leaves the machine: every
 * request but that for the page itself is refused.
 */

import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { chromium, type Browser, type Page } from 'playwright-core';
import { build } from 'vite';
import { BUNDLE } from './bundle.mjs';

export const BLANK = '<!doctype html><meta charset="utf-8"><title>blank</title>';

/** Inline handlers of recorded HTML must not run; what the test itself evaluates must. */
const CALM = "default-src 'none'; script-src 'unsafe-eval'";
const EXECUTABLES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const FLAGS = [
  '--host-resolver-rules=MAP * ~NOTFOUND',
  '--disable-background-networking',
  '--disable-gpu',
  '--no-first-run',
];
const ADDRESS = 'https://blank.example/';

/** There is no browser to run. */
export class NoChromium extends Error {}

export class Chromium {
  readonly #browser: Browser;
  readonly #page: Page;
  readonly #served = new Map<string, { body: string; calm: boolean }>();
  #address = '';

  private constructor(browser: Browser, page: Page) {
    this.#browser = browser;
    this.#page = page;
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
    const page = await browser.newPage();
    const started = new Chromium(browser, page);
    await page.addInitScript({ content: `${code}\n${more}` });
    await page.route('**/*', async (route) => {
      const served = route.request().isNavigationRequest() && started.#served.get(bare(route.request().url()));
      if (!served || route.request().frame() !== page.mainFrame()) return route.abort();
      const headers = served.calm ? { 'content-security-policy': CALM } : {};
      return route.fulfill({ body: served.body, contentType: 'text/html; charset=utf-8', headers });
    });
    return started;
  }

  /** Load a page under its own address; `calm` keeps its scripts from running. */
  async open(url: string, html: string, { calm = false } = {}): Promise<void> {
    this.#served.clear();
    this.#served.set(bare(url), { body: html, calm });
    // Two addresses that differ in their fragment are one page to the browser.
    if (bare(this.#address) === bare(url)) await this.#page.goto('about:blank');
    await this.#page.goto(url, { waitUntil: 'domcontentloaded' });
    this.#address = url;
  }

  async openBlank(url = ADDRESS): Promise<void> {
    await this.open(url, BLANK, { calm: true });
  }

  /** Ask the page one question of many inputs in one round trip; `whom` names the function that answers. */
  async ask(question: string, inputs: readonly unknown[], whom = 'askVectors'): Promise<unknown[]> {
    const answer = await this.#page.evaluate(
      ({ whom, question, given }) =>
        (globalThis as unknown as Record<string, (question: string, given: string) => string>)[whom]?.(question, given),
      { whom, question, given: JSON.stringify(inputs) },
    );
    if (answer === undefined) throw new Error(`the page has no ${whom}`);
    return JSON.parse(answer) as unknown[];
  }

  async close(): Promise<void> {
    await this.#browser.close();
  }
}

function bare(url: string): string {
  return url.split('#', 1)[0] ?? '';
}

function executable(): string {
  const given = process.env['CHROMIUM'];
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
