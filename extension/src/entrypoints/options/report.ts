/**
 * A connection test in plain words: one sentence each, and whether it is good news.
 */
import type { Finding } from '../../background/connection';
import { say, sayProblem } from '../../interface/words';

export interface Sentence {
  readonly good: boolean;
  readonly words: string;
}

export function reportOf(finding: Finding, host: string, keys: { readonly instance: boolean }): Sentence[] {
  switch (finding.kind) {
    case 'reachable':
      return [{ good: true, words: say('testConnected', [host]) }];
    case 'unwell':
      return [bad(say('testUnwell', [host]))];
    case 'http_error':
      return [bad(say('testError', [host, String(finding.status)]))];
    case 'problem':
      return [bad(trouble(finding.problem, host))];
    case 'connected': {
      const { instanceApiKeyAccepted, openaiApiKeyStatus } = finding.verdict;
      const sentences = [{ good: true, words: say('testConnected', [host]) }];
      if (keys.instance) {
        sentences.push(
          instanceApiKeyAccepted
            ? { good: true, words: say('testInstanceKeyAccepted') }
            : bad(say('testInstanceKeyRefused')),
        );
      }
      switch (openaiApiKeyStatus) {
        case 'missing':
          break;
        case 'valid':
          sentences.push({ good: true, words: say('testOpenAiValid') });
          break;
        case 'format_invalid':
          sentences.push(bad(say('testOpenAiFormat')));
          break;
        case 'invalid':
          sentences.push(bad(say('testOpenAiInvalid')));
          break;
        case 'authenticated_restricted':
          sentences.push(bad(say('testOpenAiRestricted')));
          break;
        case 'error':
          sentences.push(bad(say('testOpenAiError')));
      }
      return sentences;
    }
  }
}

function trouble(problem: Extract<Finding, { kind: 'problem' }>['problem'], host: string): string {
  switch (problem.kind) {
    case 'offline':
      return say('testOffline');
    case 'no_permission':
      return say('testNoPermission', [host]);
    case 'server_down':
      return say('testNoAnswer', [host]);
    case 'not_openerrata':
      return say('testNotOpenErrata', [host]);
    case 'bad_answer':
      return say('testNotUnderstood', [host]);
    case 'upgrade_required':
      return say('testUpgrade', [host]);
    default:
      return sayProblem(problem);
  }
}

function bad(words: string): Sentence {
  return { good: false, words };
}
