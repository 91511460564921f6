"""The status of a version, of an investigation, of a list of versions.

Answers about finished investigations are cached as bytes for a minute. A running one is sent to viewers only with its
id, which earlier extensions reject and without which they could not poll it (docs/protocol.md 2.2).
"""

from __future__ import annotations

from typing import Final, NamedTuple
from uuid import UUID

import orjson
from pydantic import TypeAdapter

from contracts.rpc.status import (
    BatchQuestion,
    ClaimOut,
    DatedInvestigated,
    DetailedInvestigated,
    DetailedInvestigating,
    DetailedNotInvestigated,
    Failed,
    Investigated,
    Investigating,
    InvestigationId,
    NotInvestigated,
    PriorResult,
    VersionId,
    claim_out,
    payload_out,
)
from contracts.v1.ids import investigation_id
from contracts.v1.post import PostViewed
from kit.addresses import ip_range_prefix
from kit.cache import Cache
from kit.clock import Clock
from services.gateway.domain import derive_ip_range_key, derive_viewer_key, parse_id
from services.gateway.ports import Call, Complete, Facts, Prior, Reads, Running, VersionView

_INVESTIGATED: Final = TypeAdapter(Investigated)
_DATED_INVESTIGATED: Final = TypeAdapter(DatedInvestigated)
_DETAILED_INVESTIGATED: Final = TypeAdapter(DetailedInvestigated)
ANSWER_TTL_S: Final = 60.0
"""Answers change: a newer run may have finished, a finding may be taken back, and the counts beside a result grow."""
_UNKNOWN: Final = NotInvestigated(prior_investigation_result=None)


class CachedAnswer(NamedTuple):
    """An encoded answer about a version, and the fields of its `PostViewed`."""

    post_id: UUID
    version_id: UUID
    correlation: UUID | None
    answer: bytes


class Viewing:
    """Records views and answers with the status of their version."""

    def __init__(self, reads: Reads, facts: Facts, clock: Clock, *, analysis: str, cache_bytes: int) -> None:
        self._analysis = analysis
        self._reads = reads
        self._facts = facts
        self._clock = clock
        self._finished, self._counted = (
            Cache[str, CachedAnswer](clock, capacity=cache_bytes, ttl_s=ANSWER_TTL_S, weigh=_weight) for _ in range(2)
        )

    def clear_caches(self) -> None:
        """Drop cached answers."""
        self._finished.clear()
        self._counted.clear()

    async def record(self, question: VersionId, call: Call) -> NotInvestigated | DetailedInvestigating | bytes:
        """Count the view of a known version and answer with its result, if it has one. Raises: Unavailable."""
        cache = self._counted if call.supports_optional_fields else self._finished
        finished, generation = cache.get(question.post_version_id), cache.generation
        if finished is not None:
            await self._publish_view(finished.post_id, finished.version_id, finished.correlation, call)
            return finished.answer
        version_id = parse_id(question.post_version_id)
        if version_id is None:
            return _UNKNOWN
        view = await self._reads.view(version_id)
        if view is None:
            return _UNKNOWN
        await self._publish_view(view.post_id, version_id, view.correlation, call)
        answer = await self._detailed_answer(version_id, view) if call.supports_optional_fields else _answer(view)
        if isinstance(answer, bytes):
            cached = CachedAnswer(view.post_id, version_id, view.correlation, answer)
            cache.put(str(version_id), cached, generation=generation)
        return answer

    async def _detailed_answer(
        self, version_id: UUID, view: VersionView
    ) -> NotInvestigated | DetailedInvestigating | bytes:
        if view.complete is None:
            known = await self._reads.investigation(investigation_id(version_id, self._analysis))
            if isinstance(known, Running):
                return DetailedInvestigating(
                    **dict(_progress(known)), investigation_id=str(known.investigation_id), view_count=view.views
                )
            return DetailedNotInvestigated(prior_investigation_result=_prior(view.prior), view_count=view.views)
        result = DetailedInvestigated(
            provenance=view.complete.provenance,
            claims=_claims(view.complete),
            investigation_id=str(view.complete.investigation_id),
            view_count=view.views,
            corroboration_count=view.corroborations,
        )
        return _DETAILED_INVESTIGATED.dump_json(result, by_alias=True)

    async def _publish_view(self, post_id: UUID, version_id: UUID, correlation: UUID | None, call: Call) -> None:
        caller = call.caller
        viewer = derive_viewer_key(caller.instance_key_hash, caller.address, caller.user_agent)
        event = PostViewed(
            view_id=self._clock.new_id(),
            post_id=post_id,
            version_id=version_id,
            viewer_key=viewer,
            ip_range_key=derive_ip_range_key(ip_range_prefix(caller.address)),
            reporter_key=viewer if caller.has_right("corroborate") else None,
        )
        await self._facts.publish(event, correlation or call.correlation)


class Statuses:
    """Answers about status without recording a view."""

    def __init__(self, reads: Reads, clock: Clock, *, cache_bytes: int) -> None:
        self._reads = reads
        self._finished = Cache[str, bytes](clock, capacity=cache_bytes, ttl_s=ANSWER_TTL_S, weigh=_size_bytes)

    def clear_caches(self) -> None:
        """Drop cached answers."""
        self._finished.clear()

    async def investigation(
        self, question: InvestigationId, call: Call
    ) -> NotInvestigated | Investigating | Failed | bytes:
        """The status of an investigation, encoded once it is finished; an unknown one counts as not investigated.

        Raises: Unavailable.
        """
        finished, generation = self._finished.get(question.investigation_id), self._finished.generation
        if finished is not None:
            return finished
        investigation_id = parse_id(question.investigation_id)
        state = None if investigation_id is None else await self._reads.investigation(investigation_id)
        if state is None:
            return _UNKNOWN
        if isinstance(state, Complete):
            dated = DatedInvestigated(provenance=state.provenance, claims=_claims(state), checked_at=state.checked_at)
            answer = _DATED_INVESTIGATED.dump_json(dated, by_alias=True)
            self._finished.put(str(state.investigation_id), answer, generation=generation)
            return answer
        if isinstance(state, Running):
            return _progress(state)
        return Failed(provenance=state.provenance)

    async def batch(self, question: BatchQuestion, call: Call) -> bytes:
        """Which of these versions have a finished investigation, and how many findings: an encoded `BatchAnswer`.

        Encoded without models, since building a hundred takes longer than all the rest. Raises: Unavailable.
        """
        counts = await self._reads.claim_counts(question.posts)
        statuses = [
            {
                "platform": key.platform,
                "externalId": key.external_id,
                "investigationState": "NOT_INVESTIGATED" if count is None else "INVESTIGATED",
                "incorrectClaimCount": count or 0,
            }
            for key, count in zip(question.posts, counts, strict=True)
        ]
        return orjson.dumps({"statuses": statuses})


def _answer(view: VersionView) -> NotInvestigated | bytes:
    if view.complete is None:
        return NotInvestigated(prior_investigation_result=_prior(view.prior))
    result = Investigated(provenance=view.complete.provenance, claims=_claims(view.complete))
    return _INVESTIGATED.dump_json(result, by_alias=True)


def _claims(complete: Complete) -> tuple[ClaimOut, ...]:
    return tuple(map(claim_out, complete.claims))


def _progress(state: Running) -> Investigating:
    return Investigating(
        status=state.status,
        provenance=state.provenance,
        pending_claims=tuple(map(payload_out, state.pending)),
        confirmed_claims=tuple(map(payload_out, state.confirmed)),
        prior_investigation_result=_prior(state.prior),
    )


def _prior(prior: Prior | None) -> PriorResult | None:
    if prior is None:
        return None
    claims = tuple(map(claim_out, prior.claims))
    return PriorResult(old_claims=claims, source_investigation_id=str(prior.investigation_id))


def _weight(cached: CachedAnswer) -> int:
    return _size_bytes(cached.answer)


def _size_bytes(answer: bytes) -> int:
    return len(answer) + 256
