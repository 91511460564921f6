/**
 * Settings being edited, validated while they are typed. Pure.
 */
import { type AddressProblem, readAddress } from '../../settings/address';
import { isSendable, looksLikeOpenAiKey, type Settings } from '../../settings/settings';

export type Draft = Pick<Settings, 'apiBaseUrl' | 'apiKey' | 'openaiApiKey' | 'autoInvestigate' | 'hmacSecret'>;

export type AddressComplaint = 'addressNoUrl' | 'addressScheme' | 'addressPublicHttp' | 'addressExtras';
type Complaint = AddressComplaint | 'optionsKeyFormat' | 'optionsKeyControl' | 'optionsAutoNeedsKey';

export type Complaints = Partial<Record<keyof Draft, Complaint>>;

export const ADDRESS_COMPLAINTS: Readonly<Record<AddressProblem, AddressComplaint>> = {
  no_url: 'addressNoUrl',
  scheme: 'addressScheme',
  public_http: 'addressPublicHttp',
  extras: 'addressExtras',
};

export function draftOf({ apiBaseUrl, apiKey, openaiApiKey, autoInvestigate, hmacSecret }: Settings): Draft {
  return { apiBaseUrl, apiKey, openaiApiKey, autoInvestigate, hmacSecret };
}

/** What is wrong, by field. A remark on `autoInvestigate` does not prevent saving. */
export function complaintsOf(draft: Draft): Complaints {
  const address = readAddress(draft.apiBaseUrl);
  return {
    ...(!address.ok && { apiBaseUrl: ADDRESS_COMPLAINTS[address.problem] }),
    ...(!isSendable(draft.apiKey) && { apiKey: 'optionsKeyControl' as const }),
    ...(draft.openaiApiKey.trim() !== '' &&
      !looksLikeOpenAiKey(draft.openaiApiKey) && { openaiApiKey: 'optionsKeyFormat' as const }),
    ...(draft.autoInvestigate &&
      draft.openaiApiKey.trim() === '' && { autoInvestigate: 'optionsAutoNeedsKey' as const }),
  };
}

export function maySave(complaints: Complaints): boolean {
  return Object.keys(complaints).every((field) => field === 'autoInvestigate');
}

export function isSame(one: Draft, other: Draft): boolean {
  return (Object.keys(one) as (keyof Draft)[]).every((field) => trimDraft(one)[field] === trimDraft(other)[field]);
}

/** As it is stored. */
export function trimDraft(draft: Draft): Draft {
  return {
    ...draft,
    apiBaseUrl: draft.apiBaseUrl.trim(),
    apiKey: draft.apiKey.trim(),
    openaiApiKey: draft.openaiApiKey.trim(),
    hmacSecret: draft.hmacSecret.trim(),
  };
}
