"""One attempt: from a request to a draft, with every candidate published the moment the model submits it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from uuid import UUID

from pydantic import SecretStr

from analyses import analysis
from analyses.base import Analysis, Material
from contracts.v1 import (
    ClaimProposed,
    Event,
    InvestigationDrafted,
    InvestigationFailed,
    InvestigationRequested,
    InvestigationRetryScheduled,
    InvestigationStarted,
)
from contracts.v1.ids import claim_id
from contracts.v1.investigation import FailureClass
from contracts.v1.parts import InvestigationInput, Picture
from kit.clock import Clock
from kit.errors import Reject, Retry
from services.investigator.domain import GiveUp, NotYet, Run, Step, first, next_step, plan
from services.investigator.ports import (
    Blobs,
    Finished,
    Image,
    InvestigationBrief,
    Keys,
    Log,
    Model,
    ModelError,
    Submission,
)

LOG_LAG_S = 0.2


class Investigator:
    """Runs the model over versions."""

    def __init__(self, log: Log, blobs: Blobs, keys: Keys, model: Model, clock: Clock, worker: str) -> None:
        self._log = log
        self._blobs = blobs
        self._keys = keys
        self._model = model
        self._clock = clock
        self._worker = worker

    async def on_investigation_requested(self, event: InvestigationRequested, attempt: int) -> AsyncIterator[Event]:
        """Do what the history says is left to do."""
        step: Step | None = first(event) if attempt == 1 else None
        step = step or plan(event, await self._log.history(event.investigation_id))
        if isinstance(step, NotYet):
            raise Retry(LOG_LAG_S, "the log does not show the request yet")
        if isinstance(step, GiveUp):
            yield self._failed(event, step.attempt, step.follows_failure, "TRANSIENT", "every attempt was cut short")
        if not isinstance(step, Run):
            return
        taken = step.input or await self._log.snapshot(event.version_id)
        if taken is None:
            raise Reject(f"version {event.version_id} is not in the log")
        kind = analysis(event.analysis)
        yield InvestigationStarted(
            follows=step.follows_start,
            investigation_id=event.investigation_id,
            version_id=event.version_id,
            post_id=event.post_id,
            analysis=event.analysis,
            attempt=step.attempt,
            worker=self._worker,
            input=taken,
            prompt=kind.prompt,
            model=self._model.name,
            key_source=event.key_source,
        )
        try:
            async for fact in self._investigate(event, step, kind, taken):
                yield fact
        except ModelError as error:
            delay_s = next_step(step, error.failure)
            if delay_s is None:
                yield self._failed(
                    event, step.attempt, step.follows_failure, error.failure, error.reason, error.status_code
                )
                return
            yield InvestigationRetryScheduled(
                investigation_id=event.investigation_id,
                attempt=step.attempt,
                failure=error.failure,
                reason=error.reason,
                status_code=error.status_code,
                retry_at=self._clock.now() + timedelta(seconds=delay_s),
            )
            raise Retry(delay_s, error.reason) from error

    async def on_given_up(self, event: InvestigationRequested, reason: str) -> AsyncIterator[Event]:
        """A request that cannot be handled ends as failed, so that nobody waits for it."""
        history = await self._log.history(event.investigation_id)
        last = max((entry.sequence for entry in history if isinstance(entry.event, InvestigationFailed)), default=0)
        attempts = sum(isinstance(entry.event, InvestigationStarted) for entry in history)
        yield self._failed(event, attempts, last, "NON_RETRYABLE", reason)

    async def _investigate(
        self, event: InvestigationRequested, run: Run, kind: Analysis, taken: InvestigationInput
    ) -> AsyncIterator[Event]:
        text, markdown = await asyncio.gather(
            self._blobs.get_text(taken.content),
            self._blobs.get_text(taken.markdown) if taken.markdown else _nothing(),
        )
        material = Material(
            platform=taken.platform,
            url=taken.url,
            text=text,
            markdown=markdown,
            author_name=taken.author_name,
            published_at=taken.published_at,
            image_marker=taken.image_marker,
            pictures=taken.pictures,
        )
        brief = InvestigationBrief(
            instructions=kind.prompt.text,
            parts=tuple(await asyncio.gather(*map(self._part, kind.brief(material)))),
            text=text,
            tools=kind.tools,
            parse=kind.parse_submission,
        )
        submitted: dict[UUID, None] = {}
        async for item in self._model.investigate(brief, key=await self._key(event)):
            match item:
                case Submission():
                    payload = kind.anchor(item.claim, text)
                    claim = claim_id(event.investigation_id, payload.text, payload.context)
                    if claim not in submitted and claim not in run.proposed:
                        yield ClaimProposed(
                            investigation_id=event.investigation_id,
                            claim_id=claim,
                            round=event.round,
                            version_id=event.version_id,
                            analysis=event.analysis,
                            attempt=run.attempt,
                            ordinal=len(submitted),
                            payload=payload,
                        )
                    submitted[claim] = None
                case Finished():
                    yield InvestigationDrafted(
                        follows=run.follows_draft,
                        investigation_id=event.investigation_id,
                        attempt=run.attempt,
                        claim_ids=tuple(submitted),
                        model=item.model,
                        usage=item.usage,
                        transcript=await self._blobs.put_text(item.transcript.decode()),
                    )

    async def _part(self, part: str | Picture) -> str | Image:
        if isinstance(part, str):
            return part
        assert part.blob is not None, "a picture that is shown has bytes"
        return Image(part.blob, await self._blobs.get(part.blob.sha256))

    async def _key(self, event: InvestigationRequested) -> SecretStr | None:
        if event.key_source == "INSTANCE":
            return None
        try:
            return SecretStr(await self._keys.open(event.investigation_id))
        except LookupError as error:
            raise ModelError("NON_RETRYABLE", str(error), name="UserKeyUnusable") from error

    def _failed(
        self,
        event: InvestigationRequested,
        attempt: int,
        follows: int,
        failure: FailureClass,
        reason: str,
        status_code: int | None = None,
    ) -> InvestigationFailed:
        return InvestigationFailed(
            follows=follows,
            investigation_id=event.investigation_id,
            version_id=event.version_id,
            attempt=attempt,
            round=event.round,
            failure=failure,
            reason=reason,
            status_code=status_code,
        )


async def _nothing() -> None:
    return None
