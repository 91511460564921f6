"""Decide what a worker that holds a request has to do, from the investigation's history alone.

After a redelivery, after a crash and in a second replica the history is the same, and so is the decision. Hence work
that is in the log is never paid for twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from contracts.v1 import InvestigationAdvanced, InvestigationCompleted, InvestigationRequested
from contracts.v1.investigation import CONVERSATION_LOST
from contracts.v1.parts import InvestigationInput, TextRef
from lifecycle.attempts import Exhausted, Link, NotDue, NothingToDo, OwnedByOtherWorker, follow_chain, next_attempt
from lifecycle.investigation import Investigation
from lifecycle.rounds import Round


@dataclass(frozen=True)
class Run:
    """Start attempt number `attempt`; `input` is that of earlier attempts, if there were any.

    Shapes: `proposed` and `retained` are this round's claims that earlier attempts published, with their ordinals;
    `done` are the transcript segments, in order, from which an interrupted attempt is resumed. `on_record` are the
    hashes of all transcripts and segments in the log. Units: `spent_micro_usd` is the round's cost so far, reviews
    included.
    """

    attempt: int
    attempt_of_round: int
    follows_start: int
    follows_draft: int
    follows_failure: int
    input: InvestigationInput | None
    proposed: dict[UUID, int]
    retained: dict[UUID, int] = field(default_factory=dict)
    done: tuple[TextRef, ...] = ()
    on_record: frozenset[str] = frozenset()
    spent_micro_usd: int = 0


@dataclass(frozen=True)
class GiveUp:
    """No attempt of this round is left, and there is no result."""

    attempt: int
    follows_failure: int


@dataclass(frozen=True)
class AlreadyPublished:
    """The result was published in an earlier round, but requested again because it could not be applied.

    Units: `sequence` is that of the result.
    """

    sequence: int
    result: InvestigationCompleted


@dataclass(frozen=True)
class LogLag:
    """The history does not contain the request yet: read it again."""


Plan = Run | GiveUp | NothingToDo | AlreadyPublished | OwnedByOtherWorker | NotDue | LogLag


def plan_first_delivery(request: InvestigationRequested) -> Run | None:
    """The plan for what may be the first delivery of a first request, made without reading the history; else None.

    If it is not the first delivery, the stream refuses the start, which must be the first of its subject. Not for runs
    that readers pay for: their consumer is newer than the log and gets all older requests again.
    """
    return Run(1, 1, 0, 0, 0, None, {}) if request.round == 1 and request.key_source == "INSTANCE" else None


def plan(
    request: InvestigationRequested, investigation: Investigation | None, delivery_count: int, now: datetime
) -> Plan:
    """Decide what a worker that holds `request` has to do.

    Shapes: `delivery_count` as in `next_attempt`.
    """
    if investigation is None or investigation.round.number < request.round:
        return LogLag()
    now_round = investigation.round
    if investigation.is_over(request.round) or now_round.drafted is not None:
        return NothingToDo()
    if investigation.result is not None:
        return AlreadyPublished(investigation.last_result, investigation.result)
    begun = max((attempt.number for attempt in now_round.started), default=now_round.attempts_before)
    of_round = begun - now_round.attempts_before
    following = next_attempt(of_round, _latest_delivery(now_round), _due(now_round), delivery_count, now)
    if isinstance(following, Exhausted):
        return GiveUp(begun, investigation.last_failure)
    if not isinstance(following, int):
        return following
    candidates = now_round.candidates.values()
    return Run(
        attempt=begun + 1,
        attempt_of_round=following,
        follows_start=investigation.last_start,
        follows_draft=investigation.last_draft,
        follows_failure=investigation.last_failure,
        input=investigation.input,
        proposed={each.claim_id: each.proposed.ordinal for each in candidates if each.proposed is not None},
        retained={each.claim_id: each.retained.ordinal for each in candidates if each.retained is not None},
        done=find_resumable_segments(now_round),
        on_record=frozenset(ref.sha256 for each in investigation.rounds for ref in _transcripts(each)),
        spent_micro_usd=now_round.micro_usd,
    )


def find_resumable_segments(round_: Round) -> tuple[TextRef, ...]:
    """The segments, in order, from which the round's next attempt may resume."""
    found: list[InvestigationAdvanced] = []
    for number in sorted(round_.attempts):
        attempt = round_.attempts[number]
        found += attempt.checkpoints
        if getattr(attempt.ended, "error_name", None) == CONVERSATION_LOST:
            found = []
    return chain_segments(found)


def chain_segments(checkpoints: Sequence[InvestigationAdvanced]) -> tuple[TextRef, ...]:
    """The segments that lead to the last checkpoint, in order; empty if one is missing."""
    return follow_chain([Link(event.segment, event.before) for event in checkpoints])


def step_name(investigation: UUID, round_: int, before: str | None) -> str:
    """The name of the step after a segment, under which its answer is stored."""
    return f"{investigation}/{round_}/{before or 'first'}"


def _latest_delivery(round_: Round) -> int:
    return max((attempt.started.delivery_count or 0 for attempt in round_.started if attempt.started), default=0)


def _due(round_: Round) -> datetime | None:
    return max((due for attempt in round_.attempts.values() if (due := attempt.retry_at) is not None), default=None)


def _transcripts(round_: Round) -> Iterator[TextRef]:
    for attempt in round_.attempts.values():
        yield from (each.segment for each in attempt.checkpoints)
        if attempt.transcript is not None:
            yield attempt.transcript
    for candidate in round_.candidates.values():
        spoken = [*(retry for retry, _ in candidate.retries.values()), candidate.judged]
        yield from (each.transcript for each in spoken if each is not None and each.transcript is not None)
