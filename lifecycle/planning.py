"""What a worker that holds a request has to do, decided from the investigation's history and nothing else.

A redelivery, a crash and a second replica all come here with the same history and get the same answer; that is why work
already in the log is never bought again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from contracts.v1 import InvestigationAdvanced, InvestigationCompleted, InvestigationRequested
from contracts.v1.investigation import CONVERSATION_LOST
from contracts.v1.parts import InvestigationInput, TextRef
from lifecycle.attempts import Exhausted, Link, NotDue, Nothing, OwnedByOtherWorker, follow_chain, next_attempt
from lifecycle.investigation import Investigation, Round


@dataclass(frozen=True)
class Run:
    """Start attempt number `attempt`; `input` is that of earlier attempts, if there were any.

    Shapes: `proposed` and `retained` are this round's claims that earlier attempts published, with their place; `done`
    are the segments, in order, of what this round's attempts exchanged with the model before they were cut short.
    `on_record` are the hashes of all that the log names of what was said in the run. Units: `spent_micro_usd` is what
    the round has cost so far, reviews included.
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
    """Every attempt of this round was used up without a result."""

    attempt: int
    follows_failure: int


@dataclass(frozen=True)
class Known:
    """The result was published in an earlier round, and asked for again since it could not be stored.

    Units: `sequence` is where it stands in the log.
    """

    sequence: int
    result: InvestigationCompleted


@dataclass(frozen=True)
class LogLag:
    """The log shown to us does not hold the request itself: look again."""


Step = Run | GiveUp | Nothing | Known | OwnedByOtherWorker | NotDue | LogLag


def first(request: InvestigationRequested) -> Run | None:
    """What to do without having read the history: start, if this may be the first delivery of a first request.

    Should the history say otherwise, the stream refuses the start, since it must be the first of its subject. What
    readers pay for is not begun so: their consumer is younger than the log, and met all of its requests anew.
    """
    return Run(1, 1, 0, 0, 0, None, {}) if request.round == 1 and request.key_source == "INSTANCE" else None


def plan(
    request: InvestigationRequested, investigation: Investigation | None, delivery_count: int, now: datetime
) -> Step:
    """Decide what a worker that holds `request` has to do.

    Shapes: `delivery_count` as in `next_attempt`.
    """
    if investigation is None or investigation.round.number < request.round:
        return LogLag()
    now_round = investigation.round
    if investigation.is_over(request.round) or now_round.drafted is not None:
        return Nothing()
    if investigation.result is not None:
        return Known(investigation.last_result, investigation.result)
    begun = max((attempt.number for attempt in now_round.started), default=now_round.attempts_before)
    of_round = begun - now_round.attempts_before
    following = next_attempt(of_round, _begun_on(now_round), _due(now_round), delivery_count, now)
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
        retained={each.claim_id: each.kept.ordinal for each in candidates if each.kept is not None},
        done=resumable(now_round),
        on_record=frozenset(ref.sha256 for each in investigation.rounds for ref in _said(each)),
        spent_micro_usd=now_round.micro_usd,
    )


def resumable(round_: Round) -> tuple[TextRef, ...]:
    """The segments that a next attempt of the round may go on from, from the first on."""
    found: list[InvestigationAdvanced] = []
    for number in sorted(round_.attempts):
        attempt = round_.attempts[number]
        found += attempt.checkpoints
        if getattr(attempt.ended, "error_name", None) == CONVERSATION_LOST:
            found = []
    return chain(found)


def chain(checkpoints: Sequence[InvestigationAdvanced]) -> tuple[TextRef, ...]:
    """The segments that lead to the last of these, from the first on; none if one is missing."""
    return follow_chain([Link(event.stretch, event.before) for event in checkpoints])


def step_name(investigation: UUID, round_: int, before: str | None) -> str:
    """The name of a step of a run: what is asked after a segment, or at first. Its answer is stored under it."""
    return f"{investigation}/{round_}/{before or 'first'}"


def _begun_on(round_: Round) -> int:
    return max((attempt.started.delivery or 0 for attempt in round_.started if attempt.started), default=0)


def _due(round_: Round) -> datetime | None:
    return max((due for attempt in round_.attempts.values() if (due := attempt.retry_at) is not None), default=None)


def _said(round_: Round) -> Iterator[TextRef]:
    for attempt in round_.attempts.values():
        yield from (each.stretch for each in attempt.checkpoints)
        if attempt.transcript is not None:
            yield attempt.transcript
    for candidate in round_.candidates.values():
        spoken = [*(retry for retry, _ in candidate.retries.values()), candidate.verdict]
        yield from (each.transcript for each in spoken if each is not None and each.transcript is not None)
