/**
 * The server as the rest of the background sees it: requests use the current settings, and whether the server considers
 * this version outdated is stored.
 *
 * "Too old" belongs to one version of the extension and one server; any answer from that server ends it. Source:
 * docs/protocol.md 1.6, 5.6.
 */
import type { ProcedureOutput, ProcedureName } from '../protocol/rpc';
import type { Problem } from '../protocol/status';
import { type Address, serverAddress } from '../settings/address';
import { isSendable, readSettings, type Settings } from '../settings/settings';
import type { Bytes } from '../tlog/encoding';
import type { Area } from './ports';
import {
  type Access,
  callProcedure,
  type LookupReply,
  type Net,
  readLogFile,
  readLookupFile,
  type Result,
  sendHint,
} from './server';

const UPGRADE = 'runtime:upgrade-required';

export interface Upgrade {
  readonly minimumVersion: string | null;
  readonly detectedForVersion: string;
  readonly apiBaseUrl: string;
}

export class ServerClient {
  readonly #area: Area;
  readonly #net: Net;
  readonly #version: string;
  readonly #upgradeChanged: () => void;

  constructor(area: Area, net: Net, version: string, upgradeChanged: () => void) {
    this.#area = area;
    this.#net = net;
    this.#version = version;
    this.#upgradeChanged = upgradeChanged;
  }

  async settings(): Promise<Settings> {
    return readSettings(this.#area);
  }

  async request<N extends ProcedureName>(
    procedure: N,
    input: Readonly<Record<string, unknown>>,
  ): Promise<Result<ProcedureOutput<N>>> {
    const access = accessOf(await this.settings(), this.#version);
    const outcome = await callProcedure(this.#net, access, procedure, input);
    if (outcome.ok) await this.#clearUpgrade();
    else if (outcome.problem.kind === 'upgrade_required') await this.#recordUpgrade(outcome.problem, access);
    return outcome;
  }

  /** A file of the decision log; null where there is none. */
  async readLog(path: string): Promise<Bytes | null> {
    return readLogFile(this.#net, await this.address(), path);
  }

  /** A file of private look-ups. */
  async readLookup(path: string, etag: string | null): Promise<Result<LookupReply>> {
    return readLookupFile(this.#net, await this.address(), path, etag);
  }

  /** Send the server one post that was viewed. */
  async sendHint({ platform, externalId }: { readonly platform: string; readonly externalId: string }): Promise<void> {
    return sendHint(this.#net, await this.address(), platform, externalId);
  }

  /** The server in the current settings. */
  async address(): Promise<Address> {
    return serverAddress((await this.settings()).apiBaseUrl);
  }

  /** What to upgrade to, if this version is too old for the server in the current settings; else null. */
  async upgrade(): Promise<Upgrade | null> {
    const known = (await this.#area.get([UPGRADE]))[UPGRADE] as Upgrade | undefined;
    if (known?.detectedForVersion !== this.#version) return null;
    const { apiBaseUrl } = await this.settings();
    return known.apiBaseUrl === serverAddress(apiBaseUrl).baseUrl ? known : null;
  }

  async #recordUpgrade(
    { minimumVersion }: Extract<Problem, { kind: 'upgrade_required' }>,
    access: Access,
  ): Promise<void> {
    if (minimumVersion === null && (await this.upgrade()) !== null) return;
    const upgrade: Upgrade = {
      minimumVersion,
      detectedForVersion: this.#version,
      apiBaseUrl: access.address.baseUrl,
    };
    await this.#area.set({ [UPGRADE]: upgrade });
    this.#upgradeChanged();
  }

  async #clearUpgrade(): Promise<void> {
    if ((await this.#area.get([UPGRADE]))[UPGRADE] === undefined) return;
    await this.#area.remove(UPGRADE);
    this.#upgradeChanged();
  }
}

/** How to ask with these settings. A key that cannot travel in a header is left out. */
export function accessOf(settings: Settings, version: string): Access {
  const sendable = (key: string) => (isSendable(key) ? key : '');
  return {
    address: serverAddress(settings.apiBaseUrl),
    version,
    apiKey: sendable(settings.apiKey),
    openaiApiKey: sendable(settings.openaiApiKey),
    hmacSecret: settings.hmacSecret,
  };
}
