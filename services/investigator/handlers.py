"""One attempt: from a request to a draft, with every candidate published the moment the model submits it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace
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
from contracts.v1.ids import claim_id
from contracts.v1.investigation import FailureClass
from contracts.v1.parts import ClaimPayload, InvestigationInput, TextRef
from kit.clock import Clock
from kit.errors import Outage, Reject, Retry, Superseded
from kit.runs import RunRecord, is_fault_of_key, limit_time, open_key
from lifecycle.attempts import NotDue, OwnedByOtherWorker
from lifecycle.investigation import Investigation
from lifecycle.planning import GiveUp, Known, LogLag, Run, Step, first, plan, step_name
from lifecycle.retries import ATTEMPTS
from services.investigator.briefs import read_material, write_brief
from services.investigator.earlier import with_earlier
from services.investigator.ports import (
    Blobs,
    Checkpoint,
    Decision,
    Finished,
    Keys,
    Limits,
    Log,
    Model,
    ModelError,
    Priors,
    Research,
)

LOG_LAG_S = 0.2
RUN_S = 3_600.0


class Investigator:
    """Runs the model over versions."""

    def __init__(
        self,
        log: Log,
        blobs: Blobs,
        keys: Keys,
        model: Model,
        clock: Clock,
        worker: str,
        *,
        priors: Priors,
        research: Research,
        limits: Limits,
        run_s: float = RUN_S,
    ) -> None:
        self._log = log
        self._blobs = blobs
        self._keys = keys
        self._model = model
        self._clock = clock
        self._worker = worker
        self._priors = priors
        self._research = research
        self._limits = limits
        self._run_s = run_s

    async def on_investigation_requested(self, event: InvestigationRequested, attempt: int) -> AsyncIterator[Event]:
        """Do what the history says is left to do."""
        step: Step | None = first(event) if attempt == 1 else None
        step = step or plan(event, await self._investigation(event), attempt, self._clock.now())
        if isinstance(step, LogLag):
            raise Outage(LOG_LAG_S, "the log does not show the request yet")
        if isinstance(step, NotDue):
            raise Retry(step.left_s, "it is too early for the next attempt")
        if isinstance(step, OwnedByOtherWorker):
            raise Superseded("an attempt was begun on a later delivery of the request")
        if isinstance(step, Known):
            yield step.result.model_copy(update={"round": event.round, "follows": step.sequence})
        if isinstance(step, GiveUp):
            yield self._ended(event, step.attempt, step.follows_failure, "TRANSIENT", "every attempt was cut short")
        if not isinstance(step, Run):
            return
        kind = flagging_kind(event.analysis)
        began = asyncio.get_running_loop().time()
        taken = step.input or await self._look(event)
        look = look_step(kind, is_update=taken.parent_investigation_id is not None)
        yield InvestigationStarted(
            follows=step.follows_start,
            investigation_id=event.investigation_id,
            version_id=event.version_id,
            post_id=event.post_id,
            analysis=event.analysis,
            attempt=step.attempt,
            worker=self._worker,
            input=taken,
            prompt=look.prompt,
            model=self._model.name,
            key_source=event.key_source,
            attachment=event.attachment,
            delivery=attempt,
            cost_limit_micro_usd=self._limits.cost_micro_usd,
            rules=kind.rules,
        )
        record = RunRecord(
            self._blobs,
            partial(step_name, event.investigation_id, event.round),
            step.done,
            step.on_record,
            is_first=step.attempt_of_round == 1,
        )
        try:
            async for fact in self._investigate(event, step, kind, look, taken, record, began):
                yield fact
        except ModelError as error:
            delay_s = ATTEMPTS.delay_s(step.attempt_of_round, error.failure, error.retry_after_s)
            # What was exchanged before the failure has been paid for and may be looked at.
            transcript = None if error.transcript is None else await record.keep(error.transcript)
            if delay_s is None or is_fault_of_key(event.key_source, error):
                yield self._failed(event, step, error, transcript)
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
                retry_at=self._clock.now() + timedelta(seconds=delay_s),
            )
            raise Retry(delay_s, error.reason) from error

    async def on_given_up(self, event: InvestigationRequested, reason: str) -> AsyncIterator[Event]:
        """A request that cannot be handled ends as failed, so that nobody waits for it."""
        found = await self._investigation(event)
        attempts = found.progress.attempt_count if found is not None else 0
        follows = found.last_failure if found is not None else 0
        yield self._ended(event, attempts, follows, "NON_RETRYABLE", reason)

    async def _investigation(self, event: InvestigationRequested) -> Investigation | None:
        return Investigation.of(await self._log.history(event.investigation_id))

    async def _look(self, event: InvestigationRequested) -> InvestigationInput:
        """What this run and its later attempts look at, and what was found in an earlier version of it."""
        taken, prior = await asyncio.gather(
            self._log.snapshot(event.version_id),
            self._priors.prior(event.post_id, event.version_id, event.analysis),
        )
        if taken is None:
            raise Reject(f"version {event.version_id} is not in the log")
        return await with_earlier(taken, prior, self._blobs)

    async def _investigate(
        self,
        event: InvestigationRequested,
        run: Run,
        kind: FlaggingKind,
        look: Look,
        taken: InvestigationInput,
        record: RunRecord[TextRef],
        began: float,
    ) -> AsyncIterator[Event]:
        material = await read_material(taken, self._blobs)
        research = self._research.calls(event.post_id, event.analysis)
        brief = await write_brief(look, material, self._blobs, research, self._limits)
        done, published = await record.before()
        if published is None:
            await record.stay_within(run.spent_micro_usd, self._limits.cost_micro_usd)
        brief = replace(brief, done=done, published=published)
        old = {claim.claim_id: claim.payload for claim in taken.old_claims}
        named: dict[UUID, None] = {}
        retained: list[UUID] = []
        items = self._model.converse(
            brief, key=await open_key(self._keys, event.key_source, event.investigation_id, event.attachment)
        )
        async with aclosing(limit_time(items, record, began=began, seconds=self._run_s)) as items_in_time:
            async for item in items_in_time:
                match item:
                    case Decision(value=ClaimPayload() as submitted):
                        payload = kind.anchor(submitted, material.text)
                        claim = claim_id(event.investigation_id, payload.text, kind.place(payload, material.text))
                        if claim not in named and claim not in run.proposed:
                            yield ClaimProposed(
                                investigation_id=event.investigation_id,
                                claim_id=claim,
                                round=event.round,
                                version_id=event.version_id,
                                analysis=event.analysis,
                                attempt=run.attempt,
                                ordinal=len(named),
                                payload=payload,
                            )
                        named[claim] = None
                    case Decision(value=UUID() as old_id):
                        here = kind.keep(old[old_id], material.text)
                        assert not isinstance(here, Rejection), "decide refuses what cannot be kept"
                        claim = claim_id(event.investigation_id, here.text, kind.place(here, material.text))
                        # What was handed in as new in this round is judged as new, whatever is said about it later.
                        if claim not in named and claim not in run.proposed:
                            if claim not in run.retained:
                                yield ClaimRetained(
                                    investigation_id=event.investigation_id,
                                    claim_id=claim,
                                    round=event.round,
                                    retained_from=old_id,
                                    ordinal=len(named),
                                    payload=here,
                                )
                            retained.append(claim)
                        named[claim] = None
                    case Checkpoint():
                        segment = await record.keep_checkpoint(item)
                        advanced = InvestigationAdvanced(
                            investigation_id=event.investigation_id,
                            attempt=run.attempt,
                            calls=item.calls,
                            before=segment.before,
                            stretch=segment.words,
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
                            claim_ids=tuple(named),
                            retained_ids=tuple(retained),
                            model=item.model,
                            usage=item.usage,
                            transcript=await record.keep(item.transcript),
                        )

    async def _is_over(
        self, event: InvestigationRequested, advanced: InvestigationAdvanced, record: RunRecord[TextRef]
    ) -> bool:
        """Whether the rest of the run is of no use: it was cancelled, or a review failed for good.

        Raises: ModelError: it has cost what it may.
        """
        try:
            found = await self._investigation(event)
        except Retry:  # a log that cannot be read now is no reason to give up what is half done
            return False
        if found is None:
            return False
        if found.is_over(event.round):
            return True
        found.round.add_checkpoint(advanced)  # a replica may lag
        await record.stay_within(found.round.micro_usd, self._limits.cost_micro_usd, advanced.usage)
        return False

    def _failed(
        self, event: InvestigationRequested, run: Run, error: ModelError, transcript: TextRef | None
    ) -> InvestigationFailed:
        return self._ended(event, run.attempt, run.follows_failure, error.failure, error.reason).model_copy(
            update={
                "fault": "USER_KEY" if is_fault_of_key(event.key_source, error) else "RUN",
                "status_code": error.status_code,
                "error_name": error.name,
                "usage": error.usage,
                "transcript": transcript,
            }
        )

    def _ended(
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
