/**
 * Settings of fact-checks being edited. Pure.
 *
 * The shipped instructions are stored as an empty text, so a reader who has not changed them gets those of the next release.
 */
import { readAddress } from '../../settings/address';
import { isSendable, type Settings } from '../../settings/settings';
import { PROMPT } from '../../verdict/given';
import { ADDRESS_COMPLAINTS, type AddressComplaint } from './draft';

type Chosen = Pick<
  Settings,
  'verdictRoute' | 'verdictBaseUrl' | 'verdictModel' | 'verdictKey' | 'searchProvider' | 'searchKey' | 'verdictPrompt'
>;

export type ChecksDraft = Chosen & {
  /** As entered. */
  readonly verdictMaxTokens: string;
};

type Complaint =
  AddressComplaint | 'optionsModelMissing' | 'optionsKeyMissing' | 'optionsKeyControl' | 'optionsMaxTokensBad';

export type ChecksComplaints = Partial<Record<keyof ChecksDraft, Complaint>>;

export function checksDraftOf(settings: Settings): ChecksDraft {
  const { verdictRoute, verdictBaseUrl, verdictModel, verdictKey, searchProvider, searchKey, verdictPrompt } = settings;
  return {
    verdictRoute,
    verdictBaseUrl,
    verdictModel,
    verdictKey,
    searchProvider,
    searchKey,
    verdictPrompt: verdictPrompt === '' ? PROMPT : verdictPrompt,
    verdictMaxTokens: String(settings.verdictMaxTokens),
  };
}

/** What is stored. */
export function changesOf(draft: ChecksDraft): Chosen & Pick<Settings, 'verdictMaxTokens'> {
  const isShipped = draft.verdictPrompt === PROMPT || draft.verdictPrompt.trim() === '';
  return {
    verdictRoute: draft.verdictRoute,
    verdictBaseUrl: draft.verdictRoute === 'openrouter' ? '' : draft.verdictBaseUrl.trim(),
    verdictModel: draft.verdictModel.trim(),
    verdictKey: draft.verdictKey.trim(),
    searchProvider: draft.searchProvider,
    searchKey: draft.searchKey.trim(),
    verdictPrompt: isShipped ? '' : draft.verdictPrompt.trim(),
    verdictMaxTokens: Number(draft.verdictMaxTokens),
  };
}

/** What is wrong, by field. */
export function checksComplaintsOf(draft: ChecksDraft): ChecksComplaints {
  const { verdictRoute: route, searchProvider: engine } = draft;
  const tokens = Number(draft.verdictMaxTokens);
  return {
    ...(!(Number.isInteger(tokens) && tokens >= 256 && tokens <= 32_768) && {
      verdictMaxTokens: 'optionsMaxTokensBad' as const,
    }),
    ...(route !== '' && modelComplaints(draft)),
    ...(engine !== 'none' && engine !== 'duckduckgo' && keyComplaint('searchKey', draft.searchKey, true)),
  };
}

function modelComplaints({ verdictRoute, verdictBaseUrl, verdictModel, verdictKey }: ChecksDraft): ChecksComplaints {
  const isAsked = verdictRoute === 'other' || (verdictRoute === 'lmstudio' && verdictBaseUrl.trim() !== '');
  // Elsewhere an empty address means our default server; here it is not an address.
  const address = readAddress(verdictBaseUrl.trim() || 'none');
  return {
    ...(isAsked && !address.ok && { verdictBaseUrl: ADDRESS_COMPLAINTS[address.problem] }),
    ...(verdictModel.trim() === '' && { verdictModel: 'optionsModelMissing' as const }),
    ...keyComplaint('verdictKey', verdictKey, verdictRoute === 'openrouter'),
  };
}

function keyComplaint(field: 'verdictKey' | 'searchKey', key: string, needed: boolean): ChecksComplaints {
  if (needed && key.trim() === '') return { [field]: 'optionsKeyMissing' };
  return isSendable(key) ? {} : { [field]: 'optionsKeyControl' };
}
