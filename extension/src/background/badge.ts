/**
 * What the toolbar button shows. Pure. Source: docs/protocol.md 5.6.
 */
import type { PostState } from '../protocol/status';

export type BadgeTitle =
  | 'extName'
  | 'badgeFindingsOne'
  | 'badgeFindingsMany'
  | 'badgeClean'
  | 'badgeInvestigating'
  | 'badgeFailed'
  | 'badgeUnanswered'
  | 'badgeUpgrade'
  | 'badgeRetracted';

export interface Badge {
  readonly text: string;
  readonly color: string;
  /** Message key of the tooltip, which screen readers read; `$1` is `text`. */
  readonly title: BadgeTitle;
}

export const NO_BADGE: Badge = { text: '', color: '#000000', title: 'extName' };
export const UPGRADE_BADGE: Badge = { text: '!', color: '#dc2626', title: 'badgeUpgrade' };
export const RETRACTED_BADGE: Badge = { text: 'i', color: '#3b82f6', title: 'badgeRetracted' };

const AMBER = '#f59e0b';
const BLUE = '#3b82f6';
const RED = '#ef4444';
const GREEN = '#22c55e';

/** The badge of a post's state; null is a tab without a post. */
export function badgeOf(state: PostState | null): Badge {
  switch (state?.kind) {
    case 'investigating': {
      const found = state.pendingCount + state.confirmed.length;
      const text = found > 0 ? short(found) : '…';
      return { text, color: found > 0 ? AMBER : BLUE, title: 'badgeInvestigating' };
    }
    case 'investigated': {
      const found = state.claims.length;
      if (found === 0) return { text: '✓', color: GREEN, title: 'badgeClean' };
      return { text: short(found), color: RED, title: found === 1 ? 'badgeFindingsOne' : 'badgeFindingsMany' };
    }
    case 'failed':
      return { text: '!', color: RED, title: 'badgeFailed' };
    case 'unanswered':
      return isSilent(state.problem.kind) ? NO_BADGE : { text: '!', color: RED, title: 'badgeUnanswered' };
    default:
      return NO_BADGE;
  }
}

/** Problems not worth an alert on every tab. */
function isSilent(problem: string): boolean {
  return ['offline', 'erased', 'no_lookups', 'paused'].includes(problem);
}

function short(found: number): string {
  return found > 999 ? '999' : String(found);
}
