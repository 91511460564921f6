"""One attempt: from a request to a draft, with every candidate published the moment the model submits it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from datetime import timedelta
from functools import partial
from uuid import UUID

from pydantic import SecretStr

from analyses import flagging_kind
from analyses.flagging import Earlier, FlaggingKind, Look, Material, Rejection, look_step
from contracts.spent import usd
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
from contracts.v1.parts import ClaimPayload, InvestigationInput, Picture, TextRef, Usage
from kit.clock import Clock
from kit.errors import Outage, Reject, Retry, Superseded
from lifecycle.investigation import Investigation
from lifecycle.planning import GiveUp, Known, LogLag, NotDue, OwnedByOtherWorker, Run, Step, first, plan
from lifecycle.retries import ATTEMPTS
from services.investigator.earlier import with_earlier
from services.investigator.ports import (
    KEY_UNUSABLE,
    Article,
    Blobs,
    Brief,
    Checkpoint,
    Decision,
    Finished,
    Image,
    Keys,
    Limits,
    Log,
    Model,
    ModelError,
    Priors,
    Research,
)
from services.investigator.record import Record

LOG_LAG_S = 0.2
RUN_S = 3_600.0
Found = ClaimPayload | UUID
"""What a look decides: a new claim, or the id of an old one that is kept."""
Item = Decision[Found] | Checkpoint | Finished[None]


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
        deadline_s = asyncio.get_running_loop().time() + self._run_s
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
        record = Record(self._blobs, event, step)
        try:
            async for fact in self._investigate(event, step, kind, look, taken, record, deadline_s):
                yield fact
        except ModelError as error:
            delay_s = ATTEMPTS.delay_s(step.attempt_of_round, error.failure, error.retry_after_s)
            # What was exchanged before the failure has been paid for and may be looked at.
            transcript = None if error.transcript is None else await record.kept(error.transcript)
            if delay_s is None or _is_of_the_key(event, error):
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
        record: Record,
        deadline_s: float,
    ) -> AsyncIterator[Event]:
        material = await self._material(taken)
        brief = await self._brief(event, look, material)
        done, published = await record.before()
        if published is None:
            await self._stay_within(run.spent_micro_usd, record)
        brief = replace(brief, done=done, published=published)
        old = {claim.claim_id: claim.payload for claim in taken.old_claims}
        named: dict[UUID, None] = {}
        retained: list[UUID] = []
        items = self._model.converse(brief, key=await self._key(event))
        async with aclosing(self._within(items, record, deadline_s)) as items_in_time:
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
                        advanced = await record.advanced(item)
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
                            transcript=await record.kept(item.transcript),
                        )

    async def _within(
        self, items: AsyncGenerator[Item, None], record: Record, deadline_s: float
    ) -> AsyncGenerator[Item, None]:
        """What the model says before the deadline. Raises: ModelError: also when the deadline passes."""
        async with aclosing(items):
            while True:
                try:
                    async with asyncio.timeout_at(deadline_s) as limit:
                        item = await anext(items, None)
                except TimeoutError:
                    if not limit.expired():
                        raise
                    reason = f"The run took longer than {self._run_s:g} seconds."
                    error = ModelError("NON_RETRYABLE", reason, name="RunTimeout", usage=record.usage)
                    error.transcript = await record.ended(error)
                    raise error from None
                if item is None:
                    return
                yield item

    async def _material(self, taken: InvestigationInput) -> Material:
        text = await self._blobs.get_text(taken.content)  # one after another: nearly all are inline
        markdown, diff = await self._text(taken.markdown), await self._text(taken.content_diff)
        return Material(
            platform=taken.platform,
            url=taken.url,
            text=text,
            markdown=markdown,
            author_name=taken.author_name,
            published_at=taken.published_at,
            has_video=taken.has_video,
            image_marker=taken.image_marker,
            pictures=taken.pictures,
            earlier=Earlier(taken.old_claims, diff or "") if taken.parent_investigation_id is not None else None,
        )

    async def _brief(self, event: InvestigationRequested, look: Look, material: Material) -> Brief[Found, None]:
        return Brief(
            step=look.name,
            instructions=look.prompt.text,
            parts=tuple(await asyncio.gather(*map(self._part, look.brief(material)))),
            read=look.read,
            turns=look.turns,
            tools=look.tools(material),
            decide=partial(look.decide, material=material),
            research=self._research.calls(event.post_id, event.analysis),
            limits=self._limits,
            subject=Article(material.text, {claim.claim_id: claim.payload.text for claim in material.old_claims}),
        )

    async def _is_over(self, event: InvestigationRequested, advanced: InvestigationAdvanced, record: Record) -> bool:
        """Whether the rest of the run is of no use: it was cancelled, or a review failed for good.

        Raises: as `_stay_within`.
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
        await self._stay_within(found.round.micro_usd, record, advanced.usage)
        return False

    async def _stay_within(self, cost: int, record: Record, usage: Usage | None = None) -> None:
        """Raises: ModelError: a run and its reviews have cost together what the run may; a model knows only its own."""
        limit = self._limits.cost_micro_usd
        if limit is not None and cost >= limit:
            reason = f"The run and its reviews cost {usd(cost)} and it wanted more; its limit is {usd(limit)}."
            error = ModelError("NON_RETRYABLE", reason, name="CostLimit", usage=usage)
            error.transcript = await record.ended(error)
            raise error

    async def _text(self, ref: TextRef | None) -> str | None:
        return None if ref is None else await self._blobs.get_text(ref)

    async def _part(self, part: str | Picture) -> str | Image:
        if isinstance(part, str):
            return part
        assert part.blob is not None, "a picture that is shown has bytes"
        return Image(part.blob, await self._blobs.get(part.blob.sha256))

    async def _key(self, event: InvestigationRequested) -> SecretStr | None:
        if event.key_source == "INSTANCE":
            return None
        try:
            return SecretStr(await self._keys.open(event.investigation_id, event.attachment))
        except LookupError as error:
            raise ModelError("NON_RETRYABLE", str(error), name=KEY_UNUSABLE) from error

    def _failed(
        self, event: InvestigationRequested, run: Run, error: ModelError, transcript: TextRef | None
    ) -> InvestigationFailed:
        return self._ended(event, run.attempt, run.follows_failure, error.failure, error.reason).model_copy(
            update={
                "fault": "USER_KEY" if _is_of_the_key(event, error) else "RUN",
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


def _is_of_the_key(event: InvestigationRequested, error: ModelError) -> bool:
    """Whether a reader's own key failed; trying it again changes nothing."""
    return event.key_source == "USER" and error.about_the_key
