import { describe, expect, it, vi } from 'vitest';

import type { Claim } from '../../src/protocol/status';
import { decodeBase64, toLatin1 } from '../../src/tlog/encoding';
import { requirement } from '../requirement';
import { CASES, proofOf } from '../tlog/decision_cases';
import { cached, DONE, FakeEnvironment, investigating, pageContent, queued, state, tab } from './fakes';

const FOUND = {
  investigationState: 'INVESTIGATED',
  provenance: 'SERVER_VERIFIED',
  claims: CASES.findings,
  investigationId: CASES.investigation,
};
const PROVEN = { kind: 'proven', index: '6', cosignatures: 2 };
const UNPROVEN = { state: { kind: 'unanswered', problem: { kind: 'unproven' } }, proof: null };
const WRONG = { kind: 'unanswered', problem: { kind: 'log_contradicts' } };
const PROOF = CASES.investigation;

type Environment = FakeEnvironment & { logs: (proof: Uint8Array<ArrayBuffer> | Response, policy?: Response) => void };

/** A server that shows findings and has a log. */
function serving(name: string, shown: object = FOUND): Environment {
  const environment = new FakeEnvironment() as Environment;
  const { server } = environment;
  environment.logs = (proof, policy = new Response(decodeBase64(CASES.policy))) => {
    server.answers[PROOF] = () => (proof instanceof Response ? proof.clone() : new Response(proof));
    server.answers.policy = () => policy.clone();
  };
  environment.logs(proofOf(name));
  server.says('post.recordViewAndGetStatus', shown);
  return environment;
}

/** What a reader sees once the page has been read: the state of the tab, and what the log says. */
async function look(environment: FakeEnvironment, session = 's1') {
  const worker = await environment.begin();
  await worker.receive(pageContent(session), tab(1));
  const { status } = await cached(worker);
  return { state: status!.state, proof: status!.proof };
}

function inOtherWords(): Claim[] {
  return CASES.findings.map((finding) => ({ ...finding, summary: 'It is made of ice.' }));
}

describe(
  requirement('TR-18', 'The extension underlines only what a proof of the log confirms, where there is a log'),
  () => {
    it('shows findings that the log confirms, and says where', async () => {
      const environment = serving('found');
      const seen = await look(environment);
      expect(seen.state).toMatchObject({ kind: 'investigated', claims: CASES.findings });
      expect(seen.proof).toEqual(PROVEN);
      expect(environment.statesOf(1)).toEqual(['checking', 'investigated']);
      expect(environment.server.asked(PROOF)[0]!.headers.get('x-api-key')).toBeNull();
    });

    it.each([
      'without quorum',
      'signed for another tree',
      'another leaf',
      'other words',
      'nothing found',
      'nothing carried',
    ])('shows nothing where the log contradicts: %s', async (name) => {
      const environment = serving(name);
      expect(await look(environment)).toEqual({ state: WRONG, proof: null });
      expect(environment.statesOf(1)).toEqual(['checking', 'unanswered']);
      expect(environment.badges.get(1)).toMatchObject({ text: '!' });
      expect(JSON.stringify(environment.messages)).not.toContain('cheese');
    });

    it('shows nothing where a byte of the proof is another one', async () => {
      const good = proofOf('found');
      // Another header is no proof at all, and the quorum does not need the last witness.
      const [from, to] = [toLatin1(good).indexOf('\n') + 1, toLatin1(good).lastIndexOf('witness.example/w2')];
      for (let at = from; at < to; at += 199) {
        const changed = good.slice();
        changed[at]! ^= 1;
        const environment = serving('found');
        environment.logs(changed);
        expect((await look(environment)).state, `byte ${at}`).toEqual(WRONG);
      }
    });

    it('shows nothing where the browser knows no Ed25519', async () => {
      const importKey = crypto.subtle.importKey.bind(crypto.subtle) as (...given: unknown[]) => Promise<CryptoKey>;
      vi.spyOn(crypto.subtle, 'importKey').mockImplementation((...given: unknown[]) =>
        given[2] === 'Ed25519' ? Promise.reject(new DOMException('unknown', 'NotSupportedError')) : importKey(...given),
      );
      const environment = serving('found');
      const seen = await look(environment);
      vi.restoreAllMocks();
      expect(seen).toEqual(UNPROVEN);
      expect(environment.server.asked(PROOF)).toEqual([]);
    });

    it('shows nothing in other words than the logged ones', async () => {
      expect((await look(serving('found', { ...FOUND, claims: inOtherWords() }))).state).toEqual(WRONG);
    });

    it('shows findings of an earlier version only if the log confirms them', async () => {
      const prior = (oldClaims: readonly Claim[]) => ({
        investigationState: 'NOT_INVESTIGATED',
        priorInvestigationResult: { oldClaims, sourceInvestigationId: CASES.investigation },
      });
      expect((await look(serving('found', prior(CASES.findings)))).proof).toEqual(PROVEN);
      expect((await look(serving('found', prior(inOtherWords())))).state).toEqual(WRONG);
      const environment = serving('found', prior(CASES.findings));
      environment.logs(new Response('', { status: 404 }));
      expect(await look(environment)).toEqual({ state: { kind: 'not_investigated', prior: null }, proof: null });
    });

    it.each<[string, Response | Uint8Array<ArrayBuffer>]>([
      ['404', new Response('the log has no such decision', { status: 404 })],
      ['a failing server', new Response('', { status: 503 })],
      ['a page instead of a proof', new Response('<!doctype html>')],
      ['a decision before this one', proofOf('failed')],
      ['an erased decision', proofOf('erased')],
    ])('shows no finding without a proof where there is a log: %s', async (_, answer) => {
      const environment = serving('found');
      environment.logs(answer.constructor === Response ? answer.clone() : answer);
      expect(await look(environment)).toEqual(UNPROVEN);
      expect(environment.badges.get(1)).toMatchObject({ text: '!' });
      expect(JSON.stringify(environment.messages)).not.toContain('cheese');
      environment.logs(proofOf('found'));
      expect((await look(environment, 's2')).proof).toEqual(PROVEN);
    });

    it('shows findings of a server without a log, and says so', async () => {
      const environment = serving('found');
      environment.logs(new Response('', { status: 404 }), new Response('', { status: 404 }));
      const seen = await look(environment);
      expect(seen.state).toMatchObject({ kind: 'investigated', claims: CASES.findings });
      expect(seen.proof).toEqual({ kind: 'none' });
    });

    it('shows no finding without a proof of a server that had a log, whatever it answers of it', async () => {
      const environment = serving('found');
      await look(environment);
      environment.logs(new Response('', { status: 404 }), new Response('', { status: 404 }));
      environment.server.says('post.recordViewAndGetStatus', { ...FOUND, investigationId: undefined });
      expect(await look(environment, 's2')).toEqual(UNPROVEN);
    });

    it('takes a network error for no proof, never for a contradiction', async () => {
      const environment = serving('found');
      const fail = () => Promise.reject(new TypeError('Failed to fetch'));
      environment.server.answers[PROOF] = fail;
      expect(await look(environment)).toEqual(UNPROVEN);
      environment.server.answers.policy = fail;
      expect(await look(environment, 's2')).toEqual(UNPROVEN);
    });

    it('asks again for a proof that may come with the next note, for a minute', async () => {
      const environment = serving('found');
      environment.logs(new Response('', { status: 404 }));
      const worker = await environment.begin();
      const content = pageContent();
      const again = async (attempt: number) =>
        worker.receive({ ...content, payload: { ...content.payload, attempt } }, tab(1));
      expect(await again(0)).toMatchObject({ ok: false, retryAfterMs: 1_000 });
      expect(await again(5)).toMatchObject({ ok: false, retryAfterMs: 30_000 });
      expect(await again(6)).toMatchObject({ ok: false, retryAfterMs: null });
      environment.logs(proofOf('found'));
      expect(await again(1)).toEqual({ ok: true });
    });

    it('goes on waiting for a result until its proof is there, for a minute', async () => {
      for (const comes of [true, false]) {
        const environment = serving('found', investigating(0, 0, { investigationId: CASES.investigation }));
        environment.server.says('post.getInvestigation', { ...DONE, claims: CASES.findings });
        environment.logs(new Response('', { status: 404 }));
        const worker = await environment.begin();
        await worker.receive(pageContent(), tab(1));
        await worker.poll();
        expect(await state(worker)).toMatchObject({ kind: 'investigating' });
        if (comes) environment.logs(proofOf('found'));
        environment.now += 60_000;
        await worker.poll();
        expect(await state(worker)).toMatchObject({ kind: comes ? 'investigated' : 'unanswered' });
      }
    });

    it('remembers the largest tree: a smaller one or another root contradicts it, a larger one follows', async () => {
      const environment = serving('found');
      await look(environment);
      environment.now += 60_000;
      for (const [name, wrong] of [
        ['smaller', true],
        ['fork', true],
        ['found', false],
        ['larger', false],
        ['found', true],
      ] as const) {
        environment.logs(proofOf(name));
        const seen = await look(environment, `${name}${environment.now}`);
        expect([name, seen.state.kind]).toEqual([name, wrong ? 'unanswered' : 'investigated']);
        environment.now += 60_000;
      }
    });

    it('takes a tree that was the newest a moment ago for no proof', async () => {
      const environment = serving('larger');
      await look(environment);
      environment.logs(proofOf('found'));
      environment.now += 5_000;
      expect(await look(environment, 's2')).toEqual(UNPROVEN);
    });

    it('keeps the policy of the first use until another server is set', async () => {
      const environment = serving('found');
      await look(environment);
      expect(environment.server.asked('policy')).toHaveLength(1);
      const other = new TextEncoder().encode('quorum none\n');
      environment.logs(proofOf('found'), new Response(other));
      expect((await look(environment, 's2')).proof).toEqual(PROVEN);
      expect(environment.server.asked('policy')).toHaveLength(1);
      const worker = await environment.begin();
      await worker.onSettingsChanged(['apiBaseUrl']);
      expect((await look(environment, 's3')).state).toEqual(WRONG);
    });

    it('follows a log to another key that signs beside the known one', async () => {
      const environment = serving('found');
      await look(environment);
      const both = () => new Response(decodeBase64(CASES.policy_of_both));
      environment.logs(proofOf('signed by both keys'), both());
      expect((await look(environment, 's2')).proof).toMatchObject({ kind: 'proven' });
      environment.logs(proofOf('signed by the new key'), both());
      expect((await look(environment, 's3')).proof).toMatchObject({ kind: 'proven' });
    });

    it('does not follow a log to a key that nobody vouches for', async () => {
      const environment = serving('found');
      await look(environment);
      environment.logs(proofOf('larger'), new Response(decodeBase64(CASES.policy_of_both)));
      await look(environment, 's2');
      environment.logs(proofOf('signed by the new key'));
      expect((await look(environment, 's3')).state).toEqual(WRONG);
    });

    it('does not keep a policy that confirmed nothing', async () => {
      const environment = serving('found');
      environment.logs(proofOf('found'), new Response('quorum none\n'));
      expect((await look(environment)).state).toEqual(WRONG);
      environment.logs(proofOf('found'));
      expect((await look(environment, 's2')).proof).toEqual(PROVEN);
    });

    it('asks nothing where nothing was found or nobody knows the investigation', async () => {
      for (const shown of [
        { ...FOUND, claims: [] },
        { ...FOUND, investigationId: undefined },
      ]) {
        const environment = serving('found', shown);
        expect((await look(environment)).proof).toBeNull();
        expect(environment.server.asked(PROOF)).toHaveLength(0);
      }
    });

    it('asks once for a result that other tabs show already', async () => {
      const environment = serving('found');
      const worker = await environment.begin();
      await worker.receive(pageContent('s1'), tab(1));
      await worker.receive(pageContent('s2'), tab(2));
      expect((await cached(worker, 2)).status!.proof).toEqual(PROVEN);
      expect(environment.server.asked(PROOF)).toHaveLength(1);
    });

    it('is asked for the result of an investigation that the reader waited for', async () => {
      const environment = serving('found', investigating(0, 0, { investigationId: CASES.investigation }));
      environment.server.says('post.getInvestigation', { ...DONE, claims: inOtherWords() });
      const worker = await environment.begin();
      await worker.receive(pageContent(), tab(1));
      await worker.poll();
      expect(await state(worker)).toEqual(WRONG);
      const complete = {
        ...queued(),
        investigationId: CASES.investigation,
        status: 'COMPLETE',
        claims: inOtherWords(),
      };
      environment.server.says('post.investigateNow', complete);
      environment.server.says('post.recordViewAndGetStatus', {
        investigationState: 'NOT_INVESTIGATED',
        priorInvestigationResult: null,
      });
      await worker.receive(pageContent('s2'), tab(2));
      await worker.receive({ v: 1, type: 'INVESTIGATE_NOW', payload: { tabId: 2 } }, { kind: 'page' });
      expect(await state(worker, 2)).toEqual(WRONG);
    });
  },
);
