"""What readers are shown: the status of a version, of an investigation, of a list of versions.

A finished investigation never changes, so its answer is kept as bytes and costs no query. One that runs is shown to a
viewer only with its id, which earlier extensions refuse to read; without it they could not follow it up (CONTRACT 2.2).
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple
from uuid import UUID

from pydantic import TypeAdapter

from contracts.rpc.status import (
    BatchAnswer,
    BatchQuestion,
    ClaimOut,
    Failed,
    Investigated,
    InvestigatedAt,
    InvestigatedSeen,
    Investigating,
    InvestigatingSeen,
    InvestigationId,
    InvestigationStatus,
    ListedStatus,
    NotInvestigated,
    NotInvestigatedSeen,
    PriorResult,
    VersionId,
    claim_out,
    payload_out,
)
from contracts.v1.ids import investigation_id
from contracts.v1.post import PostViewed
from kit.addresses import ip_range_prefix
from services.gateway.domain import ip_range_key, parse_id, viewer_key
from services.gateway.memory import Memory
from services.gateway.ports import Call, Clock, Complete, Facts, Prior, Reads, Running, VersionView

_INVESTIGATED: Final = TypeAdapter(Investigated)
_INVESTIGATED_SEEN: Final = TypeAdapter(InvestigatedSeen)
COUNTS_FOR_S: Final = 60.0
"""How old the numbers beside a result may be; the result itself never changes."""
_UNKNOWN: Final = NotInvestigated(prior_investigation_result=None)


class Remembered(NamedTuple):
    """The written answer about a version, and what a view of it is told with."""

    post_id: UUID
    version_id: UUID
    correlation: UUID | None
    answer: bytes


class Viewing:
    """Records views and says what is known."""

    def __init__(self, reads: Reads, facts: Facts, clock: Clock, *, analysis: str, remember_bytes: int) -> None:
        self._analysis = analysis
        self._reads = reads
        self._facts = facts
        self._clock = clock
        self._finished: Memory[str, Remembered] = Memory(clock, capacity=remember_bytes, weigh=_weight)
        self._counted: Memory[str, Remembered] = Memory(
            clock, capacity=remember_bytes, ttl_s=COUNTS_FOR_S, weigh=_weight
        )

    def forget(self) -> None:
        """Remember nothing of what was answered."""
        self._finished.clear()
        self._counted.clear()

    async def record(self, question: VersionId, call: Call) -> NotInvestigated | InvestigatingSeen | bytes:
        """Count the view of a known version and answer with its result, if it has one. Raises: Unavailable."""
        memory = self._counted if call.reads_more else self._finished
        finished, cleared = memory.get(question.post_version_id), memory.cleared
        if finished is not None:
            await self._viewed(finished.post_id, finished.version_id, finished.correlation, call)
            return finished.answer
        version_id = parse_id(question.post_version_id)
        if version_id is None:
            return _UNKNOWN
        view = await self._reads.view(version_id)
        if view is None:
            return _UNKNOWN
        await self._viewed(view.post_id, version_id, view.correlation, call)
        answer = await self._seen(version_id, view) if call.reads_more else _answer(view)
        if isinstance(answer, bytes):
            remembered = Remembered(view.post_id, version_id, view.correlation, answer)
            memory.put(str(version_id), remembered, cleared=cleared)
        return answer

    async def _seen(self, version_id: UUID, view: VersionView) -> NotInvestigated | InvestigatingSeen | bytes:
        if view.complete is None:
            known = await self._reads.investigation(investigation_id(version_id, self._analysis))
            if isinstance(known, Running):
                return InvestigatingSeen(
                    **_progress(known), investigation_id=str(known.investigation_id), view_count=view.views
                )
            return NotInvestigatedSeen(prior_investigation_result=_prior(view.prior), view_count=view.views)
        result = InvestigatedSeen(
            provenance=view.complete.provenance,
            claims=_claims(view.complete),
            investigation_id=str(view.complete.investigation_id),
            view_count=view.views,
            corroboration_count=view.corroborations,
        )
        return _INVESTIGATED_SEEN.dump_json(result, by_alias=True)

    async def _viewed(self, post_id: UUID, version_id: UUID, correlation: UUID | None, call: Call) -> None:
        caller = call.caller
        viewer = viewer_key(caller.instance_key_hash, caller.address, caller.user_agent)
        event = PostViewed(
            view_id=self._clock.new_id(),
            post_id=post_id,
            version_id=version_id,
            viewer_key=viewer,
            ip_range_key=ip_range_key(ip_range_prefix(caller.address)),
            reporter_key=None if caller.instance_key_hash is None else viewer,
        )
        await self._facts.tell(event, correlation or call.correlation)


class Statuses:
    """Looks up without recording anything."""

    def __init__(self, reads: Reads) -> None:
        self._reads = reads

    async def investigation(self, question: InvestigationId, call: Call) -> InvestigationStatus:
        """How far an investigation is; an unknown one counts as not investigated. Raises: Unavailable."""
        investigation_id = parse_id(question.investigation_id)
        state = None if investigation_id is None else await self._reads.investigation(investigation_id)
        if state is None:
            return _UNKNOWN
        if isinstance(state, Complete):
            return InvestigatedAt(provenance=state.provenance, claims=_claims(state), checked_at=state.checked_at)
        if isinstance(state, Running):
            return Investigating(**_progress(state))
        return Failed(provenance=state.provenance)

    async def batch(self, question: BatchQuestion, call: Call) -> BatchAnswer:
        """Which of these versions have a finished investigation, and how many findings. Raises: Unavailable."""
        counts = await self._reads.claim_counts(question.posts)
        return BatchAnswer(
            statuses=tuple(
                ListedStatus(
                    platform=key.platform,
                    external_id=key.external_id,
                    investigation_state="NOT_INVESTIGATED" if count is None else "INVESTIGATED",
                    incorrect_claim_count=count or 0,
                )
                for key, count in zip(question.posts, counts, strict=True)
            )
        )


def _answer(view: VersionView) -> NotInvestigated | bytes:
    if view.complete is None:
        return NotInvestigated(prior_investigation_result=_prior(view.prior))
    result = Investigated(provenance=view.complete.provenance, claims=_claims(view.complete))
    return _INVESTIGATED.dump_json(result, by_alias=True)


def _claims(complete: Complete) -> tuple[ClaimOut, ...]:
    return tuple(map(claim_out, complete.claims))


def _progress(state: Running) -> dict[str, Any]:
    return {
        "status": state.status,
        "provenance": state.provenance,
        "pending_claims": tuple(map(payload_out, state.pending)),
        "confirmed_claims": tuple(map(payload_out, state.confirmed)),
        "prior_investigation_result": _prior(state.prior),
    }


def _prior(prior: Prior | None) -> PriorResult | None:
    if prior is None:
        return None
    claims = tuple(map(claim_out, prior.claims))
    return PriorResult(old_claims=claims, source_investigation_id=str(prior.investigation_id))


def _weight(remembered: Remembered) -> int:
    return len(remembered.answer) + 256
