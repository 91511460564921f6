"""What is left to do for an investigation, decided from its own history and nothing else.

A redelivery, a crash and a second replica all come here with the same history and get the same answer; that is why work
already in the log is never bought again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final
from uuid import UUID

from contracts.spent import micro_usd
from contracts.v1 import (
    ClaimProposed,
    ClaimRetained,
    Event,
    InvestigationAdvanced,
    InvestigationCompleted,
    InvestigationDrafted,
    InvestigationFailed,
    InvestigationRequested,
    InvestigationRetryScheduled,
    InvestigationStarted,
)
from contracts.v1.investigation import CONVERSATION_LOST, FailureClass
from contracts.v1.parts import InvestigationInput, PublishedClaim, TextRef

MAX_ATTEMPTS: Final = 4
RETRY_BASE_S: Final = 10.0
RETRY_MAX_S: Final = 900.0
"""However long a provider asks to be left alone; a reader waits, and a reader's key lives for half an hour."""


@dataclass(frozen=True)
class Entry:
    """One fact of the investigation with its place in the log."""

    sequence: int
    event: Event


@dataclass(frozen=True)
class Prior:
    """The newest complete investigation of another version of the post whose text its site vouched for."""

    investigation_id: UUID
    text: str
    claims: tuple[PublishedClaim, ...]


@dataclass(frozen=True)
class AuthorPost:
    """Another post by the same author, as it was last seen here.

    Shapes: `claims` is None where that version was not investigated; `verified`: its site vouched for the text.
    """

    author: str
    url: str
    first_seen_at: datetime
    verified: bool
    beginning: str
    claims: tuple[PublishedClaim, ...] | None


@dataclass(frozen=True)
class Run:
    """Start attempt number `attempt`; `input` is that of earlier attempts, if there were any.

    Shapes: `proposed` and `retained` are this round's claims that earlier attempts told of, with their place; `done`
    are the stretches, in order, of what this round's attempts exchanged with the model before they were cut short.
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
class Nothing:
    """The result is there, or on its way without us."""


@dataclass(frozen=True)
class Known:
    """The result was told in an earlier round, and asked for again since it could not be stored.

    Units: `sequence` is where it stands in the log.
    """

    sequence: int
    result: InvestigationCompleted


@dataclass(frozen=True)
class Elsewhere:
    """An attempt was begun on this delivery of the request, or a later one, by somebody else."""


@dataclass(frozen=True)
class Wait:
    """The moment that was told for the next attempt has not come. Units: `left_s` seconds until then."""

    left_s: float


@dataclass(frozen=True)
class NotYet:
    """The log shown to us does not hold the request itself: it lags, look again."""


Step = Run | GiveUp | Nothing | Known | Elsewhere | Wait | NotYet


def first(request: InvestigationRequested) -> Run | None:
    """What to do without having read the history: start, if this is the first that anybody hears of the request.

    Should the history say otherwise, the stream refuses the start, since it must be the first of its subject. What
    readers pay for is not begun so: their consumer is younger than the log, and met all of its requests anew.
    """
    return Run(1, 1, 0, 0, 0, None, {}) if request.round == 1 and request.key_source == "INSTANCE" else None


def plan(request: InvestigationRequested, history: Sequence[Entry], delivery: int, now: datetime) -> Step:
    """Decide what a worker that holds `request` has to do.

    Shapes: `delivery` numbers the deliveries of the request from 1; 0 is one that another worker has as well. One that
    reached its worker late, or twice, finds an attempt begun on one as late or later: that attempt is under way, and
    beginning another would pay for the same twice. One
    that comes before the next attempt's time was put off by nobody: whoever told the time died before it could.
    """
    attempts = attempts_before = round_ = begun_on = 0
    last: dict[type[Event], int] = {}
    drafted_attempt = 0
    not_before: datetime | None = None
    over = False
    known: Known | None = None
    taken: InvestigationInput | None = None
    proposed: dict[UUID, int] = {}
    retained: dict[UUID, int] = {}
    advances: list[InvestigationAdvanced] = []
    for entry in history:
        event = entry.event
        last[type(event)] = entry.sequence
        if isinstance(event, InvestigationRequested):
            if event.round > round_:
                round_, over, attempts_before, proposed, retained = event.round, False, attempts, {}, {}
                begun_on, advances, not_before = 0, [], None
        elif isinstance(event, InvestigationStarted):
            attempts, taken = max(attempts, event.attempt), event.input
            begun_on = max(begun_on, event.delivery or 0)
        elif isinstance(event, InvestigationAdvanced) and event.attempt > attempts_before:
            advances.append(event)
        elif isinstance(event, InvestigationRetryScheduled) and event.attempt > attempts_before:
            not_before = max(event.retry_at, not_before or event.retry_at)
            if event.error_name == CONVERSATION_LOST:
                advances = []
        elif isinstance(event, InvestigationDrafted):
            drafted_attempt = max(drafted_attempt, event.attempt)
        elif isinstance(event, ClaimProposed) and event.round == round_:
            proposed.setdefault(event.claim_id, event.ordinal)
        elif isinstance(event, ClaimRetained) and event.round == round_:
            retained.setdefault(event.claim_id, event.ordinal)
        elif isinstance(event, InvestigationCompleted | InvestigationFailed):
            over = True
            known = Known(entry.sequence, event) if isinstance(event, InvestigationCompleted) else known
    if round_ < request.round:
        return NotYet()
    if over or request.round < round_ or drafted_attempt > attempts_before:
        return Nothing()
    if known is not None:
        return known
    if begun_on >= delivery:
        return Elsewhere()
    follows_failure = last.get(InvestigationFailed, 0)
    if attempts - attempts_before >= MAX_ATTEMPTS:
        return GiveUp(attempts, follows_failure)
    if not_before is not None and now < not_before:
        return Wait(min((not_before - now).total_seconds(), RETRY_MAX_S))
    return Run(
        attempt=attempts + 1,
        attempt_of_round=attempts + 1 - attempts_before,
        follows_start=last.get(InvestigationStarted, 0),
        follows_draft=last.get(InvestigationDrafted, 0),
        follows_failure=follows_failure,
        input=taken,
        proposed=proposed,
        retained=retained,
        done=chain(advances),
        on_record=frozenset(ref.sha256 for entry in history for ref in said(entry.event)),
        spent_micro_usd=micro_usd((entry.event for entry in history), request.round),
    )


def said(event: Event) -> Iterator[TextRef]:
    """What the fact names of what was said between us and a model."""
    for name in ("stretch", "transcript"):
        if isinstance(ref := getattr(event, name, None), TextRef):
            yield ref


def step_name(investigation: UUID, round_: int, before: str | None) -> str:
    """The name of a step of a run: what is asked after a stretch, or at first. Its answer is stored under it."""
    return f"{investigation}/{round_}/{before or 'first'}"


def chain(advances: Sequence[InvestigationAdvanced]) -> tuple[TextRef, ...]:
    """The stretches that lead to the last of these, from the first on; none if one is missing.

    Two workers may have gone on from the same stretch, each believing the other dead.
    """
    by_hash = {event.stretch.sha256: event for event in advances}
    found: list[TextRef] = []
    last = advances[-1] if advances else None
    while last is not None:
        found.append(last.stretch)
        if last.before is None:
            return tuple(reversed(found))
        last = by_hash.pop(last.before, None)
    return ()


def is_over(request: InvestigationRequested, history: Sequence[Entry]) -> bool:
    """Whether the investigation has ended in this round or a later one, whatever a worker still does."""
    return any(
        isinstance(entry.event, InvestigationCompleted)
        or (isinstance(entry.event, InvestigationFailed) and entry.event.round >= request.round)
        for entry in history
    )


def next_step(run: Run, failure: FailureClass, retry_after_s: float | None = None) -> float | None:
    """Seconds until the next attempt after this failure, None if the investigation ends with it.

    Units: 10, 20, 40 seconds, or as long as the provider asked for if that is longer. Source: specification 3.7.
    """
    if failure != "TRANSIENT" or run.attempt_of_round >= MAX_ATTEMPTS:
        return None
    return max(RETRY_BASE_S * 2.0 ** (run.attempt_of_round - 1), min(retry_after_s or 0.0, RETRY_MAX_S))
