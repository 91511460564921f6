"""One attempt, from the request to the draft. Every candidate is published as soon as the model submits it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import KW_ONLY, dataclass, replace
from datetime import timedelta
from functools import partial
from uuid import UUID

from analyses import flagging_kind
from analyses.flagging import FlaggingKind, Look, Rejection, look_step
from contracts.v1 import (
    ClaimProposed,
    ClaimRetained,
    Event,
    InvestigationAdvanced,
    InvestigationDrafted,
    InvestigationFailed,
    InvestigationRequested,
    InvestigationRetryScheduled,
    InvestigationStarted,
)
from contracts.v1.gates import GatePolicy
from contracts.v1.ids import claim_id
from contracts.v1.investigation import FailureClass
from contracts.v1.parts import ClaimPayload, InvestigationInput, TextRef
from kit.clock import Clock
from kit.errors import Outage, Reject, Retry, Superseded
from kit.models.base import Checkpoint, Decision, Finished, Limits, Model, ModelError
from kit.runs import KeyStore, RunRecord, is_fault_of_key, limit_time, open_key
from lifecycle.attempts import ATTEMPTS, NotDue, OwnedByOtherWorker
from lifecycle.investigation import Investigation
from lifecycle.planning import AlreadyPublished, GiveUp, LogLag, Plan, Run, plan, plan_first_delivery, step_name
from services.investigator.briefs import read_material, write_brief
from services.investigator.ports import Blobs, Log, Priors, Research
from services.investigator.update_runs import add_prior

LOG_LAG_S = 0.2
RUN_S = 3_600.0


@dataclass(frozen=True, slots=True)
class Investigator:
    """Runs the model over versions."""

    log: Log
    blobs: Blobs
    keys: KeyStore
    model: Model
    clock: Clock
    worker: str
    _: KW_ONLY
    priors: Priors
    research: Research
    limits: Limits
    run_s: float = RUN_S
    gates: GatePolicy | None = None

    async def on_investigation_requested(
        self, event: InvestigationRequested, delivery_count: int
    ) -> AsyncIterator[Event]:
        """Continue from the state that the log shows."""
        step: Plan | None = plan_first_delivery(event) if delivery_count == 1 else None
        step = step or plan(event, await self._investigation(event), delivery_count, self.clock.now())
        if isinstance(step, LogLag):
            raise Outage(LOG_LAG_S, "the log does not show the request yet")
        if isinstance(step, NotDue):
            raise Retry(step.left_s, "the next attempt is not due")
        if isinstance(step, OwnedByOtherWorker):
            raise Superseded("an attempt was started on a later delivery of the request")
        if isinstance(step, AlreadyPublished):
            yield step.result.model_copy(update={"round": event.round, "follows": step.sequence})
        if isinstance(step, GiveUp):
            yield self._make_end(event, step.attempt, step.follows_failure, "TRANSIENT", "every attempt was cut short")
        if not isinstance(step, Run):
            return
        kind = flagging_kind(event.analysis)
        started_at_s = asyncio.get_running_loop().time()
        input_ = step.input or await self._freeze_input(event)
        look = look_step(kind, is_update=input_.parent_investigation_id is not None)
        yield InvestigationStarted(
            follows=step.follows_start,
            investigation_id=event.investigation_id,
            version_id=event.version_id,
            post_id=event.post_id,
            analysis=event.analysis,
            attempt=step.attempt,
            worker=self.worker,
            input=input_,
            prompt=look.prompt,
            model=self.model.name,
            key_source=event.key_source,
            attachment=event.attachment,
            delivery_count=delivery_count,
            cost_limit_micro_usd=self.limits.cost_micro_usd,
            rules=kind.rules,
            gates=self.gates,
        )
        record = RunRecord(
            self.blobs,
            partial(step_name, event.investigation_id, event.round),
            step.done,
            step.on_record,
            is_first=step.attempt_of_round == 1,
        )
        try:
            async for fact in self._investigate(event, step, kind, look, input_, record, started_at_s):
                yield fact
        except ModelError as error:
            delay_s = ATTEMPTS.delay_s(step.attempt_of_round, error.failure, error.retry_after_s)
            # The exchange before the failure was paid for and belongs to the record.
            transcript = None if error.transcript is None else await record.store(error.transcript)
            if delay_s is None or is_fault_of_key(event.key_source, error):
                yield self._make_failure(event, step, error, transcript)
                return
            yield InvestigationRetryScheduled(
                investigation_id=event.investigation_id,
                attempt=step.attempt,
                failure=error.failure,
                reason=error.reason,
                status_code=error.status_code,
                error_name=error.name,
                usage=error.usage,
                transcript=transcript,
                retry_at=self.clock.now() + timedelta(seconds=delay_s),
            )
            raise Retry(delay_s, error.reason) from error

    async def on_exhausted(self, event: InvestigationRequested, reason: str) -> AsyncIterator[Event]:
        """End the investigation as failed: its request cannot be handled."""
        found = await self._investigation(event)
        attempts = found.progress.attempt_count if found is not None else 0
        follows = found.last_failure if found is not None else 0
        yield self._make_end(event, attempts, follows, "NON_RETRYABLE", reason)

    async def _investigation(self, event: InvestigationRequested) -> Investigation | None:
        return Investigation.fold(await self.log.history(event.investigation_id))

    async def _freeze_input(self, event: InvestigationRequested) -> InvestigationInput:
        """The input of this run and its later attempts, with the findings of an earlier version."""
        input_, prior = await asyncio.gather(
            self.log.snapshot(event.version_id),
            self.priors.prior(event.post_id, event.version_id, event.analysis),
        )
        if input_ is None:
            raise Reject(f"version {event.version_id} is not in the log")
        return await add_prior(input_.model_copy(update={"objection": event.objection}), prior, self.blobs)

    async def _investigate(
        self,
        event: InvestigationRequested,
        run: Run,
        kind: FlaggingKind,
        look: Look,
        input_: InvestigationInput,
        record: RunRecord[TextRef],
        started_at_s: float,
    ) -> AsyncIterator[Event]:
        material = await read_material(input_, self.blobs)
        research = self.research.calls(event.post_id, event.analysis)
        brief = await write_brief(look, material, self.blobs, research, self.limits)
        done, published = await record.load_previous()
        if published is None:
            await record.require_budget(run.spent_micro_usd, self.limits.cost_micro_usd)
        brief = replace(brief, done=done, published=published)
        old = {claim.claim_id: claim.payload for claim in input_.old_claims}
        named_ids: dict[UUID, None] = {}
        retained: list[UUID] = []
        items = self.model.converse(
            brief, key=await open_key(self.keys, event.key_source, event.investigation_id, event.attachment)
        )
        async with aclosing(limit_time(items, record, began=started_at_s, seconds=self.run_s)) as items_in_time:
            async for item in items_in_time:
                match item:
                    case Decision(value=ClaimPayload() as submitted):
                        payload = kind.anchor(submitted, material.text)
                        claim = claim_id(event.investigation_id, payload.text, kind.locate(payload, material.text))
                        if claim not in named_ids and claim not in run.proposed:
                            yield ClaimProposed(
                                investigation_id=event.investigation_id,
                                claim_id=claim,
                                round=event.round,
                                version_id=event.version_id,
                                analysis=event.analysis,
                                attempt=run.attempt,
                                ordinal=len(named_ids),
                                payload=payload,
                            )
                        named_ids[claim] = None
                    case Decision(value=UUID() as old_id):
                        kept = kind.retain(old[old_id], material.text)
                        assert not isinstance(kept, Rejection), "`decide` refuses what cannot be kept"
                        claim = claim_id(event.investigation_id, kept.text, kind.locate(kept, material.text))
                        # A claim submitted as new in this round stays new, whatever the model decides later.
                        if claim not in named_ids and claim not in run.proposed:
                            if claim not in run.retained:
                                yield ClaimRetained(
                                    investigation_id=event.investigation_id,
                                    claim_id=claim,
                                    round=event.round,
                                    retained_from=old_id,
                                    ordinal=len(named_ids),
                                    payload=kept,
                                )
                            retained.append(claim)
                        named_ids[claim] = None
                    case Checkpoint():
                        segment = await record.store_checkpoint(item)
                        advanced = InvestigationAdvanced(
                            investigation_id=event.investigation_id,
                            attempt=run.attempt,
                            calls=item.calls,
                            before=segment.before,
                            segment=segment.words,
                            usage=item.usage,
                        )
                        yield advanced
                        if await self._is_over(event, advanced, record):
                            return
                    case Finished():
                        yield InvestigationDrafted(
                            follows=run.follows_draft,
                            investigation_id=event.investigation_id,
                            attempt=run.attempt,
                            claim_ids=tuple(named_ids),
                            retained_ids=tuple(retained),
                            model=item.model,
                            usage=item.usage,
                            transcript=await record.store(item.transcript),
                        )

    async def _is_over(
        self, event: InvestigationRequested, advanced: InvestigationAdvanced, record: RunRecord[TextRef]
    ) -> bool:
        """Whether the round was cancelled, or a review failed permanently. Raises: ModelError: cost limit reached."""
        try:
            found = await self._investigation(event)
        except Retry:  # a log that cannot be read now is no reason to stop the run
            return False
        if found is None or found.is_over(event.round):
            return found is not None
        found.round.add_checkpoint(advanced)  # a replica may lag
        await record.require_budget(found.round.micro_usd, self.limits.cost_micro_usd, advanced.usage)
        return False

    def _make_failure(
        self, event: InvestigationRequested, run: Run, error: ModelError, transcript: TextRef | None
    ) -> InvestigationFailed:
        return self._make_end(event, run.attempt, run.follows_failure, error.failure, error.reason).model_copy(
            update={
                "fault": "USER_KEY" if is_fault_of_key(event.key_source, error) else "RUN",
                "status_code": error.status_code,
                "error_name": error.name,
                "usage": error.usage,
                "transcript": transcript,
            }
        )

    def _make_end(
        self, event: InvestigationRequested, attempt: int, follows: int, failure: FailureClass, reason: str
    ) -> InvestigationFailed:
        return InvestigationFailed(
            follows=follows,
            investigation_id=event.investigation_id,
            version_id=event.version_id,
            attempt=attempt,
            round=event.round,
            failure=failure,
            reason=reason,
        )
