"""Validates one candidate: rules, cited pages, model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import KW_ONLY, dataclass
from datetime import timedelta
from typing import Never

from analyses import flagging_kind
from analyses.flagging import Candidate, Review
from analyses.gates import REASONS, Case, CitedPage, Judgement, judge
from analyses.language_groups import find_group
from analyses.opinion import judge_opinion
from contracts.spent import format_usd
from contracts.v1 import (
    ClaimApproved,
    ClaimHeld,
    ClaimProposed,
    ClaimRejected,
    ClaimValidationFailed,
    ClaimValidationRetryScheduled,
    ClaimValidationStarted,
    Event,
    InvestigationStarted,
)
from contracts.v1.gates import GatePolicy, GateResult
from contracts.v1.parts import InvestigationInput, TextRef, Usage
from kit.clock import Clock
from kit.errors import Outage, Retry, Superseded
from kit.models.base import Brief, ClaimInDoubt, Limits, Model, ModelError, Published, ask
from kit.runs import KeyStore, is_fault_of_key, open_key
from lifecycle.attempts import REVIEWS
from lifecycle.reviews import ReviewState
from services.validator.answers import find_unpublished
from services.validator.domain import find_unsupported, keep_sources, list_pages
from services.validator.examined import ClaimIds, Examined, ReviewRecord
from services.validator.opinion import SecondOpinion
from services.validator.ports import Blobs, Runs, Sources

LOG_LAG_S = 0.2


@dataclass(frozen=True, slots=True)
class Validator:
    """Validates candidates. `unchecked_allowed`: sources that could not be checked may count as evidence.

    `policy`: what the gates require; without one they do not judge. `opinion` is asked if the policy says from which
    answer on it is believed. `hold`: approved claims are held, and the curator decides when they may be shown.
    """

    runs: Runs
    blobs: Blobs
    keys: KeyStore
    model: Model
    sources: Sources
    clock: Clock
    _: KW_ONLY
    unchecked_allowed: bool = False
    policy: GatePolicy | None = None
    opinion: SecondOpinion | None = None
    hold: bool = False

    async def on_claim_proposed(self, event: ClaimProposed, delivery_count: int) -> AsyncIterator[Event]:
        """Approve, reject, or report that no verdict was possible; a settled claim is not reviewed again.

        Whether the run is over is checked just before the model is called: even a first delivery may be hours old, if
        this process was stopped. A known repetition reads the log first, before any page is fetched. The start of a
        review is published before the model is called, so that a late delivery does not pay for a second one.
        """
        repeated = delivery_count != 1 or event.attempt > 1 or event.round > 1
        if repeated and (await self._review_state(event, delivery_count)).settled:
            return
        start = await self.runs.find_start(event)
        if start is None:
            raise Outage(LOG_LAG_S, "the log does not show the start of the run yet")
        examined = await self._examine(event, start)
        if isinstance(examined, ClaimRejected):
            yield examined
            return
        limit = start.cost_limit_micro_usd
        if repeated or limit is not None:
            state = await self._review_state(event, delivery_count)
        else:  # the stream refuses the start of the review if another one has started before
            state = ReviewState(settled=await self.runs.is_over(event))
        if state.settled:
            return
        spent = state.spent_micro_usd
        if limit is not None and spent >= limit:
            cost, most = format_usd(spent), format_usd(limit)
            reason = f"The run has cost {cost} and its limit is {most}: no further review is bought."
            yield ClaimValidationFailed(**examined.record, failure="NON_RETRYABLE", reason=reason)
            return
        yield ClaimValidationStarted(
            **_identify(event), follows=state.follows, attempt=event.attempt, delivery_count=delivery_count
        )
        step = f"{event.investigation_id}/{event.round}/{event.claim_id}"
        try:
            yield await self._review(event, start, examined, step, resume=bool(state.begun_on or state.review_attempts))
        except ModelError as error:
            failed = await self._fail(start, examined.record, error, step, state.review_attempts + 1)
            yield failed
            if isinstance(failed, ClaimValidationRetryScheduled):
                raise Retry((failed.retry_at - self.clock.now()).total_seconds(), error.reason) from error

    async def _examine(self, event: ClaimProposed, start: InvestigationStarted) -> Examined | ClaimRejected:
        """The candidate with its checked sources, or why it is refused before any model is called."""
        text = await self.blobs.get_text(start.input.content)
        kind = flagging_kind(event.analysis)
        refusal = kind.check(event.payload, text)
        if refusal is not None:
            return ClaimRejected(**_identify(event), rules=kind.rules, gate="rule", reason=refusal.reason)
        evidence = await self.sources.check(event.payload.sources)
        sources = tuple(each.source for each in evidence)
        record: ReviewRecord = {
            **_identify(event),
            "rules": kind.rules,
            "sources": sources,
            "policy": self.policy,
            "gates": (),
            "unchecked_allowed": self.unchecked_allowed,
            "opinion": None,
            "prompt": None,
            "usage": Usage(),
            "transcript": None,
        }
        unsupported = find_unsupported(sources, unchecked_allowed=self.unchecked_allowed)
        if unsupported is not None:
            return ClaimRejected(**record, gate="sources", reason=unsupported)
        counted = list_pages(event.payload, evidence, unchecked_allowed=self.unchecked_allowed)
        if self.policy is not None:
            judgement = await self._judge(event, start.input, text, counted, self.policy)
            record["gates"], counted = judgement.results, judgement.counted
            if (refused := judgement.refusal) is not None:
                return ClaimRejected(**record, gate=refused.gate, reason=REASONS[refused.code])
        return Examined(kind.review, Candidate(event.payload, text, start.input.pictures, evidence), counted, record)

    async def _review(
        self, event: ClaimProposed, start: InvestigationStarted, examined: Examined, step: str, *, resume: bool
    ) -> ClaimApproved | ClaimHeld | ClaimRejected:
        """The verdict of the second opinion, if it refuses, or of the reviewing model. Raises: ModelError."""
        review, candidate, record = examined.review, examined.candidate, examined.record
        brief: Brief[Never, Review] = Brief(
            step=review.name,
            instructions=review.prompt.text,
            parts=tuple(part for part in review.brief(candidate) if isinstance(part, str)),
            read=review.read,
            turns=review.turns,
            schema=review.schema,
            limits=Limits(cost_micro_usd=start.cost_limit_micro_usd),
            subject=ClaimInDoubt(event.payload, candidate.text),
            done=await find_unpublished(self.blobs, step) if resume else None,
            published=Published(),
        )
        result = await self._ask_opinion(examined, step, resume=resume)
        if result is not None:
            record["gates"] = (*record["gates"], result)
            if result.outcome != "PASS":
                record["usage"] = _opinion_usage(record)
                return ClaimRejected(**record, gate=result.gate, reason=REASONS[result.code])
        record["prompt"] = review.prompt
        key = await open_key(self.keys, start.key_source, start.investigation_id, start.attachment)
        finished = await ask(self.model, brief, key=key)
        record["usage"] = finished.usage.plus(_opinion_usage(record))
        record["transcript"] = await self._store_transcript(finished.transcript, step)
        verdict = finished.answer
        if not verdict.approved:
            return ClaimRejected(**record, gate="model", reason=verdict.reason or "the reviewer gave no reason")
        payload = keep_sources(event.payload, record["sources"], examined.counted)
        approval = ClaimApproved(**record, version_id=event.version_id, payload=payload)
        held_at = self.clock.now()
        return ClaimHeld(**_identify(event), approval=approval, held_at=held_at) if self.hold else approval

    async def _fail(
        self, start: InvestigationStarted, record: ReviewRecord, error: ModelError, step: str, review_attempt: int
    ) -> ClaimValidationFailed | ClaimValidationRetryScheduled:
        """The event of a failed review: when it is repeated, or that it is not."""
        record["usage"] = error.usage or Usage()
        record["transcript"] = await self._store_transcript(error.transcript, step)
        # The instance pays for the second opinion, which comes before the review and has no prompt on record.
        is_key_fault = record["prompt"] is not None and is_fault_of_key(start.key_source, error)
        delay_s = REVIEWS.delay_s(review_attempt, error.failure, error.retry_after_s)
        if delay_s is None or is_key_fault:
            record["usage"] = record["usage"].plus(_opinion_usage(record))
            return ClaimValidationFailed(
                **record,
                failure=error.failure,
                fault="USER_KEY" if is_key_fault else "RUN",
                reason=error.reason,
                status_code=error.status_code,
            )
        return ClaimValidationRetryScheduled(
            **record,
            review_attempt=review_attempt,
            failure=error.failure,
            reason=error.reason,
            status_code=error.status_code,
            error_name=error.name,
            retry_at=self.clock.now() + timedelta(seconds=delay_s),
        )

    async def on_exhausted(self, event: ClaimProposed, reason: str) -> AsyncIterator[Event]:
        """Fail the validation, since the investigation would wait indefinitely for the verdict."""
        yield ClaimValidationFailed(**_identify(event), failure="NON_RETRYABLE", reason=reason)

    async def _judge(
        self,
        event: ClaimProposed,
        post: InvestigationInput,
        text: str,
        pages: tuple[CitedPage, ...],
        policy: GatePolicy,
    ) -> Judgement:
        """What the gates say; in a thread, since long pages are compared with one another."""
        case = Case(event.payload, post.url, text, post.author_name, post.published_at, pages, policy)
        return await asyncio.to_thread(judge, case)

    async def _ask_opinion(self, examined: Examined, step: str, *, resume: bool) -> GateResult | None:
        """What the second opinion says, if one is asked for; its answer is put on record. Raises: ModelError."""
        policy = self.policy.opinion if self.policy is not None else None
        if self.opinion is None or policy is None:
            return None
        claim, text = examined.candidate.claim, examined.candidate.text
        quotations = [page.snippet for page in examined.counted]
        # Not a part of the review's step, whose answers are looked for under its name.
        opinion = await self.opinion.ask(claim.text, quotations, f"{step}-opinion", resume=resume)
        examined.record["opinion"] = opinion
        return judge_opinion(opinion.probability, find_group(text), policy)

    async def _review_state(self, event: ClaimProposed, delivery: int) -> ReviewState:
        """The state of the claim's reviews, if this delivery may continue.

        Raises: Superseded: another worker started a review on this delivery or a later one. Retry: the next review is
        not due, because its worker died before it could delay the delivery.
        """
        state = await self.runs.review_state(event)
        if not state.settled and state.begun_on >= delivery:
            raise Superseded("a review was begun on a later delivery of the claim")
        if not state.settled and (left_s := state.left_s(self.clock.now())):
            raise Retry(left_s, "it is too early for the next review")
        return state

    async def _store_transcript(self, transcript: bytes | None, step: str) -> TextRef | None:
        return await self.blobs.put_text(transcript.decode(), step) if transcript else None


def _identify(event: ClaimProposed) -> ClaimIds:
    return {"investigation_id": event.investigation_id, "claim_id": event.claim_id, "round": event.round}


def _opinion_usage(record: ReviewRecord) -> Usage:
    """What the opinion cost. A failed review that is repeated leaves it out: the opinion is not asked again."""
    return record["opinion"].usage if record["opinion"] is not None else Usage()
