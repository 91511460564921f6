"""One candidate: through the mechanical gate, then before the model."""

from __future__ import annotations

from collections.abc import AsyncIterator

from pydantic import SecretStr

from analyses import analysis
from contracts.v1 import (
    ClaimApproved,
    ClaimProposed,
    ClaimRejected,
    ClaimValidationFailed,
    Event,
    InvestigationStarted,
)
from kit.errors import Retry
from services.validator.domain import next_step
from services.validator.ports import Blobs, Keys, Model, ModelError, ReviewBrief, Runs

LOG_LAG_S = 0.2


class Validator:
    """Judges candidates."""

    def __init__(self, runs: Runs, blobs: Blobs, keys: Keys, model: Model) -> None:
        self._runs = runs
        self._blobs = blobs
        self._keys = keys
        self._model = model

    async def on_claim_proposed(self, event: ClaimProposed, attempt: int) -> AsyncIterator[Event]:
        """Approve, reject, or say that no verdict could be had; a claim judged before is not judged again."""
        if attempt > 1 and await self._runs.judged(event):
            return
        run = await self._runs.started(event.investigation_id)
        if run is None:
            raise Retry(LOG_LAG_S, "the log does not show the start of the run yet")
        text = await self._blobs.get_text(run.input.content)
        kind = analysis(event.analysis)
        refusal = kind.check(event.payload, text)
        if refusal is not None:
            yield ClaimRejected(
                investigation_id=event.investigation_id,
                claim_id=event.claim_id,
                round=event.round,
                gate="rule",
                reason=refusal.reason,
            )
            return
        brief = ReviewBrief(
            instructions=kind.review_prompt.text,
            message=kind.review_brief(event.payload, text, run.input.pictures),
            text=text,
            claim=event.payload,
            schema=kind.review_schema,
        )
        try:
            verdict = await self._model.review(brief, key=await self._key(run))
        except ModelError as error:
            delay_s = next_step(attempt, error.failure)
            if delay_s is not None:
                raise Retry(delay_s, error.reason) from error
            yield ClaimValidationFailed(
                investigation_id=event.investigation_id,
                claim_id=event.claim_id,
                round=event.round,
                failure=error.failure,
                reason=error.reason,
                status_code=error.status_code,
            )
            return
        transcript = await self._blobs.put_text(verdict.transcript.decode()) if verdict.transcript else None
        if verdict.approved:
            yield ClaimApproved(
                investigation_id=event.investigation_id,
                claim_id=event.claim_id,
                round=event.round,
                version_id=event.version_id,
                payload=event.payload,
                usage=verdict.usage,
                transcript=transcript,
            )
        else:
            yield ClaimRejected(
                investigation_id=event.investigation_id,
                claim_id=event.claim_id,
                round=event.round,
                gate="model",
                reason=verdict.reason or "the reviewer gave no reason",
                usage=verdict.usage,
                transcript=transcript,
            )

    async def on_given_up(self, event: ClaimProposed, reason: str) -> AsyncIterator[Event]:
        """A claim that cannot be judged fails its investigation, which would wait for the verdict for ever."""
        yield ClaimValidationFailed(
            investigation_id=event.investigation_id,
            claim_id=event.claim_id,
            round=event.round,
            failure="NON_RETRYABLE",
            reason=reason,
        )

    async def _key(self, run: InvestigationStarted) -> SecretStr | None:
        if run.key_source == "INSTANCE":
            return None
        try:
            return SecretStr(await self._keys.open(run.investigation_id))
        except LookupError as error:
            raise ModelError("NON_RETRYABLE", str(error), name="UserKeyUnusable") from error
