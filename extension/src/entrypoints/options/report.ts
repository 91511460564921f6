/**
 * A connection test in plain words: one sentence for each finding, and whether it is good news.
 */
import type { ConnectionResult } from '../../background/connection';
import { say, sayProblem } from '../../ui/texts';

export interface Sentence {
  readonly good: boolean;
  readonly words: string;
}

export function reportOf(finding: ConnectionResult, host: string, keys: { readonly instance: boolean }): Sentence[] {
  switch (finding.kind) {
    case 'reachable':
      return [{ good: true, words: say('testConnected', [host]) }];
    case 'unwell':
      return [badNews(say('testUnwell', [host]))];
    case 'http_error':
      return [badNews(say('testError', [host, String(finding.status)]))];
    case 'problem':
      return [badNews(describeProblem(finding.problem, host))];
    case 'connected': {
      const { instanceApiKeyAccepted, openaiApiKeyStatus } = finding.verdict;
      const sentences = [{ good: true, words: say('testConnected', [host]) }];
      if (keys.instance) {
        sentences.push(
          instanceApiKeyAccepted
            ? { good: true, words: say('testInstanceKeyAccepted') }
            : badNews(say('testInstanceKeyRefused')),
        );
      }
      switch (openaiApiKeyStatus) {
        case 'missing':
          break;
        case 'valid':
          sentences.push({ good: true, words: say('testOpenAiValid') });
          break;
        case 'format_invalid':
          sentences.push(badNews(say('testOpenAiFormat')));
          break;
        case 'invalid':
          sentences.push(badNews(say('testOpenAiInvalid')));
          break;
        case 'authenticated_restricted':
          sentences.push(badNews(say('testOpenAiRestricted')));
          break;
        case 'error':
          sentences.push(badNews(say('testOpenAiError')));
      }
      return sentences;
    }
  }
}

function describeProblem(problem: Extract<ConnectionResult, { kind: 'problem' }>['problem'], host: string): string {
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

function badNews(words: string): Sentence {
  return { good: false, words };
}
