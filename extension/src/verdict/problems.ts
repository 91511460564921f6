/** What a reader is shown if a model's server gave no answer. */
import type { ModelProblem } from './chat_format';
import type { Failure } from './check';

export function failureOf(problem: ModelProblem, host: string): Failure {
  switch (problem.kind) {
    case 'status':
      if (isAboutKey(problem.status)) return { code: 'model_key_refused', host };
      if (isAboutQuota(problem.status)) return { code: 'model_quota', host, retryAfterS: problem.retryAfterS };
      return { code: 'model_error', host };
    case 'lost':
      return { code: problem.begun ? 'model_error' : 'model_unreachable', host };
    case 'broken':
      return { code: 'model_error', host };
    case 'silent':
      return { code: 'model_silent', host };
  }
}

/** Whether the same request may be answered a moment later. */
export function mayPass(problem: ModelProblem): boolean {
  if (problem.kind === 'lost') return !problem.begun;
  return problem.kind === 'status' && !isAboutKey(problem.status) && !isAboutQuota(problem.status);
}

function isAboutKey(status: number): boolean {
  return status === 401 || status === 403;
}

function isAboutQuota(status: number): boolean {
  return status === 402 || status === 429;
}
