"""One candidate: through the rules, then held against the pages it cites, then before the model."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any, Never

from analyses import flagging_kind
from analyses.flagging import Candidate, Review
from contracts.spent import usd
from contracts.transcript import Transcript, unpublished_tail
from contracts.v1 import (
    ClaimApproved,
    ClaimProposed,
    ClaimRejected,
    ClaimValidationFailed,
    ClaimValidationRetryScheduled,
    ClaimValidationStarted,
    Event,
)
from contracts.v1.parts import TextRef, Usage
from kit.clock import Clock
from kit.errors import Outage, Retry, Superseded
from kit.runs import is_fault_of_key, open_key
from lifecycle.retries import REVIEWS
from lifecycle.reviews import ReviewState
from services.validator.domain import published, unsupported
from services.validator.ports import (
    Blobs,
    Brief,
    ClaimInDoubt,
    Keys,
    Limits,
    Model,
    ModelError,
    Published,
    Runs,
    Sources,
    ask,
)

LOG_LAG_S = 0.2


class Validator:
    """Judges candidates. `unchecked_allowed`: a source that could not be looked up may count."""

    def __init__(
        self,
        runs: Runs,
        blobs: Blobs,
        keys: Keys,
        model: Model,
        sources: Sources,
        clock: Clock,
        *,
        unchecked_allowed: bool = False,
    ) -> None:
        self._runs = runs
        self._blobs = blobs
        self._keys = keys
        self._model = model
        self._sources = sources
        self._clock = clock
        self._unchecked_allowed = unchecked_allowed

    async def on_claim_proposed(self, event: ClaimProposed, attempt: int) -> AsyncIterator[Event]:
        """Approve, reject, or say that no verdict could be had; a claim that is settled is not judged again.

        Whether its run is over is looked at just before a review is bought: a first delivery too may be hours old, if
        this process was stopped or its machine asleep. What is known to be a repetition asks the log at once, before it
        goes to look at pages. A review that is bought is told first, so that a delivery which reaches its worker late
        buys none beside it.
        """
        repeated = attempt != 1 or event.attempt > 1 or event.round > 1
        if repeated and (await self._review_state(event, attempt)).settled:
            return
        run = await self._runs.started(event)
        if run is None:
            raise Outage(LOG_LAG_S, "the log does not show the start of the run yet")
        text = await self._blobs.get_text(run.input.content)
        kind = flagging_kind(event.analysis)
        refusal = kind.check(event.payload, text)
        if refusal is not None:
            yield ClaimRejected(**_of(event), rules=kind.rules, gate="rule", reason=refusal.reason)
            return
        evidence = await self._sources.check(event.payload.sources)
        sources = tuple(each.source for each in evidence)
        judged = _of(event) | {
            "rules": kind.rules,
            "sources": sources,
            "unchecked_allowed": self._unchecked_allowed,
        }
        lacking = unsupported(sources, unchecked_allowed=self._unchecked_allowed)
        if lacking is not None:
            yield ClaimRejected(**judged, gate="sources", reason=lacking)
            return
        limit = run.cost_limit_micro_usd
        if repeated or limit is not None:
            state = await self._review_state(event, attempt)
        else:  # its review's start follows nothing: the stream refuses it if one was begun or even ended before
            state = ReviewState(settled=await self._runs.over(event))
        if state.settled:
            return
        spent = state.spent_micro_usd
        if limit is not None and spent >= limit:
            reason = f"The run has cost {usd(spent)} and its limit is {usd(limit)}: no further review is bought."
            yield ClaimValidationFailed(**judged, failure="NON_RETRYABLE", reason=reason)
            return
        yield ClaimValidationStarted(**_of(event), follows=state.follows, attempt=event.attempt, delivery=attempt)
        judged["prompt"] = kind.review.prompt
        step = f"{event.investigation_id}/{event.round}/{event.claim_id}"
        review = kind.review
        material = Candidate(event.payload, text, run.input.pictures, evidence)
        brief: Brief[Never, Review] = Brief(
            step=review.name,
            instructions=review.prompt.text,
            parts=tuple(part for part in review.brief(material) if isinstance(part, str)),
            read=review.read,
            turns=review.turns,
            schema=review.schema,
            limits=Limits(cost_micro_usd=limit),
            subject=ClaimInDoubt(event.payload, text),
            done=await self._unpublished(step) if state.begun_on or state.review_attempts else None,
            published=Published(),
        )
        try:
            finished = await ask(
                self._model, brief, key=await open_key(self._keys, run.key_source, run.investigation_id, run.attachment)
            )
        except ModelError as error:
            judged |= {
                "failure": error.failure,
                "reason": error.reason,
                "status_code": error.status_code,
                "usage": error.usage or Usage(),
                "transcript": await self._kept(error.transcript, step),
            }
            review_attempt = state.review_attempts + 1
            of_the_key = is_fault_of_key(run.key_source, error)
            delay_s = REVIEWS.delay_s(review_attempt, error.failure, error.retry_after_s)
            if delay_s is None or of_the_key:
                yield ClaimValidationFailed(**judged, fault="USER_KEY" if of_the_key else "RUN")
                return
            yield ClaimValidationRetryScheduled(
                **judged,
                attempt=review_attempt,
                error_name=error.name,
                retry_at=self._clock.now() + timedelta(seconds=delay_s),
            )
            raise Retry(delay_s, error.reason) from error
        judged |= {"usage": finished.usage, "transcript": await self._kept(finished.transcript, step)}
        verdict = finished.answer
        if verdict.approved:
            payload = published(event.payload, sources, unchecked_allowed=self._unchecked_allowed)
            yield ClaimApproved(**judged, version_id=event.version_id, payload=payload)
        else:
            yield ClaimRejected(**judged, gate="model", reason=verdict.reason or "the reviewer gave no reason")

    async def on_given_up(self, event: ClaimProposed, reason: str) -> AsyncIterator[Event]:
        """A claim that cannot be judged fails its investigation, which would wait for the verdict for ever."""
        yield ClaimValidationFailed(**_of(event), failure="NON_RETRYABLE", reason=reason)

    async def _review_state(self, event: ClaimProposed, delivery: int) -> ReviewState:
        """Where the claim stands, if this delivery may go on with it.

        Raises: Superseded: a review was begun on this delivery or a later one, elsewhere. Retry: whoever scheduled the
        next review died before the delivery was put off until then.
        """
        state = await self._runs.review_state(event)
        if not state.settled and state.begun_on >= delivery:
            raise Superseded("a review was begun on a later delivery of the claim")
        if not state.settled and (left_s := state.left_s(self._clock.now())):
            raise Retry(left_s, "it is too early for the next review")
        return state

    async def _kept(self, transcript: bytes | None, step: str) -> TextRef | None:
        return await self._blobs.put_text(transcript.decode(), step) if transcript else None

    async def _unpublished(self, step: str) -> Transcript | None:
        """What a model answered to a worker that stored it and died before it published: it is not asked again."""
        for ref in await self._blobs.answers(step):
            try:
                found = unpublished_tail(None, await self._blobs.get_text(ref))
            except (LookupError, ValueError):
                continue
            if found is not None:
                return found[0]
        return None


def _of(event: ClaimProposed) -> dict[str, Any]:
    """What every verdict on a candidate says of it."""
    return {"investigation_id": event.investigation_id, "claim_id": event.claim_id, "round": event.round}
