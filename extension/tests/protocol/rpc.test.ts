import { describe, expect, it } from 'vitest';

import { type ProcedureName, readAnswer, readRefusal } from '../../src/protocol/rpc';
import { Malformed } from '../../src/protocol/read';
import {
  CLAIM,
  DONE,
  FAILED,
  INVESTIGATED,
  investigating,
  NOT_INVESTIGATED,
  PAYLOAD,
  PRIOR,
  queued,
  REGISTERED,
} from '../background/fakes';

const answer = (procedure: ProcedureName, data: unknown) => readAnswer(procedure, { result: { data } });

describe('good answers', () => {
  it.each([
    ['post.registerObservedVersion', REGISTERED],
    ['post.recordViewAndGetStatus', NOT_INVESTIGATED],
    ['post.recordViewAndGetStatus', { ...NOT_INVESTIGATED, priorInvestigationResult: PRIOR }],
    ['post.recordViewAndGetStatus', INVESTIGATED],
    ['post.recordViewAndGetStatus', investigating(1, 1)],
    ['post.getInvestigation', DONE],
    ['post.getInvestigation', FAILED],
    ['post.getInvestigation', investigating(0, 0)],
    ['post.investigateNow', queued()],
    ['post.investigateNow', { ...queued(), status: 'COMPLETE', claims: [] }],
    ['post.validateSettings', { instanceApiKeyAccepted: true, openaiApiKeyStatus: 'missing' }],
    [
      'post.validateSettings',
      { instanceApiKeyAccepted: false, openaiApiKeyStatus: 'invalid', openaiApiKeyMessage: 'no' },
    ],
  ] as const)('%s', (procedure, data) => expect(answer(procedure, data)).toEqual(data));

  it('may say more than is known, and what only some servers say is kept', () => {
    const said = { ...NOT_INVESTIGATED, viewCount: 7, mood: 'fine' };
    expect(answer('post.recordViewAndGetStatus', said)).toEqual({ ...NOT_INVESTIGATED, viewCount: 7 });
  });

  it('lose sources that are no addresses of the web', () => {
    const bad = { url: 'javascript:alert(1)', title: 't', snippet: 's' };
    const said = { ...INVESTIGATED, claims: [{ ...CLAIM, sources: [bad, ...CLAIM.sources] }] };
    expect(answer('post.recordViewAndGetStatus', said)).toEqual(INVESTIGATED);
  });
});

describe('answers that are refused', () => {
  it.each([
    ['post.registerObservedVersion', { ...REGISTERED, versionHash: 'abc' }],
    ['post.registerObservedVersion', { ...REGISTERED, postVersionId: '' }],
    ['post.registerObservedVersion', { ...REGISTERED, platform: 'MASTODON' }],
    ['post.recordViewAndGetStatus', { investigationState: 'NOT_INVESTIGATED' }],
    ['post.recordViewAndGetStatus', { ...INVESTIGATED, claims: null }],
    ['post.recordViewAndGetStatus', { ...INVESTIGATED, claims: [PAYLOAD] }],
    ['post.recordViewAndGetStatus', { ...INVESTIGATED, claims: [{ ...CLAIM, sources: [] }] }],
    ['post.recordViewAndGetStatus', { ...INVESTIGATED, claims: [{ ...CLAIM, text: '' }] }],
    ['post.recordViewAndGetStatus', FAILED],
    ['post.getInvestigation', INVESTIGATED],
    ['post.getInvestigation', { ...DONE, checkedAt: '2026-02-03T04:05:06+00:00' }],
    ['post.investigateNow', { ...queued(), status: 'COMPLETE' }],
    ['post.investigateNow', { ...queued(), status: 'DONE' }],
    ['post.validateSettings', { instanceApiKeyAccepted: 'yes', openaiApiKeyStatus: 'missing' }],
    ['post.validateSettings', { instanceApiKeyAccepted: true, openaiApiKeyStatus: 'invalid' }],
    ['post.recordViewAndGetStatus', null],
  ] as const)('%s %j', (procedure, data) => expect(() => answer(procedure, data)).toThrow(Malformed));

  it.each([undefined, null, {}, { result: null }, { result: {} }, []])('envelope %j', (body) => {
    expect(() => readAnswer('post.recordViewAndGetStatus', body)).toThrow(Malformed);
  });
});

describe('an error', () => {
  const error = (data: unknown) => ({ error: { message: 'm', code: -1, data } });

  it('is read from its codes', () => {
    const data = {
      code: 'PRECONDITION_FAILED',
      httpStatus: 412,
      openerrataCode: 'UPGRADE_REQUIRED',
      minimumSupportedExtensionVersion: '2.0',
    };
    expect(readRefusal(error(data))).toEqual({
      code: 'PRECONDITION_FAILED',
      httpStatus: 412,
      openerrataCode: 'UPGRADE_REQUIRED',
      minimumVersion: '2.0',
    });
  });

  it('does not pass on a version that is none', () => {
    const data = { code: 'X', httpStatus: 412, minimumSupportedExtensionVersion: '<b>2</b>' };
    expect(readRefusal(error(data)).minimumVersion).toBeNull();
  });

  it('without an envelope is none', () => {
    expect(() => readRefusal({ message: 'no' })).toThrow(Malformed);
  });
});
