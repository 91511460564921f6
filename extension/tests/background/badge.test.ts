import { describe, expect, it } from 'vitest';

import { badgeOf } from '../../src/background/badge';
import type { PostState } from '../../src/protocol/status';
import { CLAIM, PAYLOAD, PRIOR } from './fakes';

const running = { kind: 'investigating', investigationId: 'i', prior: null, trouble: null, wanted: false } as const;
const done = {
  kind: 'investigated',
  provenance: 'SERVER_VERIFIED',
  investigationId: null,
  corroborationCount: null,
  checkedAt: null,
} as const;

describe('the button', () => {
  it.each<[string, PostState | null, string, string]>([
    ['nothing', null, '', 'extName'],
    ['checking', { kind: 'checking' }, '', 'extName'],
    ['skipped', { kind: 'skipped', reason: 'has_video' }, '', 'extName'],
    ['not investigated', { kind: 'not_investigated', prior: null }, '', 'extName'],
    ['an earlier version’s findings', { kind: 'not_investigated', prior: PRIOR }, '', 'extName'],
    ['running, nothing found', { ...running, pendingCount: 0, confirmed: [] }, '…', 'badgeInvestigating'],
    ['running, some found', { ...running, pendingCount: 2, confirmed: [PAYLOAD] }, '3', 'badgeInvestigating'],
    ['one finding', { ...done, claims: [CLAIM] }, '1', 'badgeFindingsOne'],
    ['two findings', { ...done, claims: [CLAIM, CLAIM] }, '2', 'badgeFindingsMany'],
    ['more than fit', { ...done, claims: Array.from({ length: 1_500 }, () => CLAIM) }, '999', 'badgeFindingsMany'],
    ['clean', { ...done, claims: [] }, '✓', 'badgeClean'],
    ['failed', { kind: 'failed' }, '!', 'badgeFailed'],
    ['unanswered', { kind: 'unanswered', problem: { kind: 'refused' } }, '!', 'badgeUnanswered'],
    ['erased', { kind: 'unanswered', problem: { kind: 'erased' } }, '', 'extName'],
    ['offline', { kind: 'unanswered', problem: { kind: 'offline' } }, '', 'extName'],
  ])('%s', (_, state, text, title) => expect(badgeOf(state)).toMatchObject({ text, title }));
});
