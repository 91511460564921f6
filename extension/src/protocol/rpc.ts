/**
 * The server's procedures: what may be asked, and what counts as an answer.
 *
 * Values are read strictly and keys that this protocol does not know are left behind, so that a server may learn to say
 * more without losing its readers. What only some servers say (`viewCount`, `investigationId`, `corroborationCount`) is
 * optional. Source: docs/protocol.md 1.3, 1.4, 2.
 */
import { SITES } from '../platforms';
import {
  count,
  flag,
  having,
  instant,
  isWebUrl,
  list,
  literal,
  matching,
  nonEmpty,
  nullable,
  type Of,
  oneOf,
  optional,
  type Read,
  text,
} from './read';

export const MAX_BODY_BYTES = 512 * 1024;

const platform = literal(...SITES.map((site) => site.platform));
const provenance = literal('SERVER_VERIFIED', 'CLIENT_FALLBACK');
const runStatus = literal('PENDING', 'PROCESSING');

const anySources = list(having({ url: text, title: nonEmpty, snippet: nonEmpty }), { min: 1 });

/** Sources are shown as links; an address that is not of the web is not a source that a reader could open. */
const sources: Read<Of<typeof anySources>> = (value, at) =>
  anySources(value, at).filter((source) => isWebUrl(source.url));

const payload = { text: nonEmpty, context: text, summary: nonEmpty, reasoning: nonEmpty, sources };
const claims = list(having({ ...payload, id: nonEmpty }));
const payloads = list(having(payload));
const prior = nullable(having({ oldClaims: claims, sourceInvestigationId: nonEmpty }));

const notInvestigated = having({
  investigationState: literal('NOT_INVESTIGATED'),
  priorInvestigationResult: prior,
  viewCount: optional(count),
});

const investigating = having({
  investigationState: literal('INVESTIGATING'),
  status: runStatus,
  provenance,
  pendingClaims: payloads,
  confirmedClaims: payloads,
  priorInvestigationResult: prior,
  investigationId: optional(nonEmpty),
  viewCount: optional(count),
});

const result = {
  investigationState: literal('INVESTIGATED'),
  provenance,
  claims,
  investigationId: optional(nonEmpty),
  corroborationCount: optional(count),
  viewCount: optional(count),
};

const registration = having({
  platform,
  externalId: nonEmpty,
  versionHash: matching(/^[0-9a-f]{64}$/i, '64 hexadecimal digits'),
  postVersionId: nonEmpty,
  provenance,
});

const viewStatus = oneOf('investigationState', {
  NOT_INVESTIGATED: notInvestigated,
  INVESTIGATING: investigating,
  INVESTIGATED: having({ ...result, checkedAt: optional(instant) }),
});

const investigationStatus = oneOf('investigationState', {
  NOT_INVESTIGATED: notInvestigated,
  INVESTIGATING: investigating,
  INVESTIGATED: having({ ...result, checkedAt: instant }),
  FAILED: having({ investigationState: literal('FAILED'), provenance }),
});

const queued = having({ investigationId: nonEmpty, status: literal('PENDING', 'PROCESSING', 'FAILED'), provenance });
const complete = having({ investigationId: nonEmpty, status: literal('COMPLETE'), provenance, claims });
const requestStatus = oneOf('status', { PENDING: queued, PROCESSING: queued, FAILED: queued, COMPLETE: complete });

const keyUnremarkable = having({ instanceApiKeyAccepted: flag, openaiApiKeyStatus: literal('missing', 'valid') });
const keyRefused = having({
  instanceApiKeyAccepted: flag,
  openaiApiKeyStatus: literal('format_invalid', 'authenticated_restricted', 'invalid', 'error'),
  openaiApiKeyMessage: nonEmpty,
});
const settings = oneOf('openaiApiKeyStatus', {
  missing: keyUnremarkable,
  valid: keyUnremarkable,
  format_invalid: keyRefused,
  authenticated_restricted: keyRefused,
  invalid: keyRefused,
  error: keyRefused,
});

export type Registration = Of<typeof registration>;
export type ViewStatus = Of<typeof viewStatus>;
export type InvestigationStatus = Of<typeof investigationStatus>;
export type RequestStatus = Of<typeof requestStatus>;
export type SettingsVerdict = Of<typeof settings>;

interface Procedure<T> {
  readonly kind: 'query' | 'mutation';
  readonly answer: Read<T>;
  /** Whether the reader's OpenAI key goes with it; it goes with nothing else. */
  readonly carriesOpenAiKey: boolean;
}

export const PROCEDURES = {
  'post.registerObservedVersion': { kind: 'mutation', answer: registration, carriesOpenAiKey: false },
  'post.recordViewAndGetStatus': { kind: 'mutation', answer: viewStatus, carriesOpenAiKey: false },
  'post.investigateNow': { kind: 'mutation', answer: requestStatus, carriesOpenAiKey: true },
  'post.getInvestigation': { kind: 'query', answer: investigationStatus, carriesOpenAiKey: false },
  'post.validateSettings': { kind: 'query', answer: settings, carriesOpenAiKey: true },
} as const satisfies Readonly<Record<string, Procedure<unknown>>>;

export type ProcedureName = keyof typeof PROCEDURES;
export type ProcedureOutput<N extends ProcedureName> = Of<(typeof PROCEDURES)[N]['answer']>;

/** What the server says went wrong, by codes; its sentences are not read. */
export interface Refusal {
  readonly code: string;
  readonly httpStatus: number;
  readonly openerrataCode: string | null;
  readonly minimumVersion: string | null;
}

const VERSION = /^\d{1,5}(\.\d{1,5}){0,3}$/;

const refusal = having({
  error: having({
    data: having({
      code: nonEmpty,
      httpStatus: count,
      openerrataCode: optional(text),
      minimumSupportedExtensionVersion: optional(nullable(text)),
    }),
  }),
});

/** Read an error's envelope. */
export function readRefusal(body: unknown): Refusal {
  const { data } = refusal(body, 'answer').error;
  const minimum = data.minimumSupportedExtensionVersion ?? null;
  return {
    code: data.code,
    httpStatus: data.httpStatus,
    openerrataCode: data.openerrataCode ?? null,
    minimumVersion: minimum !== null && VERSION.test(minimum) ? minimum : null,
  };
}

/** Read a success's envelope. */
export function readAnswer<N extends ProcedureName>(procedure: N, body: unknown): ProcedureOutput<N> {
  const read: Read<unknown> = PROCEDURES[procedure].answer;
  return having({ result: having({ data: read }) })(body, 'answer').result.data as ProcedureOutput<N>;
}

export const readHealth = having({ status: literal('ok') });
