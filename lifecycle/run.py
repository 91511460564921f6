"""One run of a step, of any kind: folded by whoever knows its events, planned by the rules that all runs share."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Generic

from contracts.v1.parts import Usage
from lifecycle.attempts import (
    Exhausted,
    Link,
    NotDue,
    Nothing,
    OwnedByOtherWorker,
    RefT,
    follow_chain,
    next_attempt,
)
from lifecycle.retries import ATTEMPTS, RetryPolicy


@dataclass(frozen=True, slots=True)
class NextAttempt(Generic[RefT]):
    """Start attempt number `attempt` after the start at `follows`, and go on from the segments in `done`.

    Shapes: `on_record` are the hashes of all that the log names of what was said. Units: `spent_micro_usd` is what all
    attempts have cost so far.
    """

    attempt: int
    follows: int
    done: tuple[RefT, ...]
    on_record: frozenset[str]
    spent_micro_usd: int


Plan = NextAttempt[RefT] | Nothing | OwnedByOtherWorker | Exhausted | NotDue


@dataclass(slots=True)
class RunHistory(Generic[RefT]):
    """What the log says of one run. Facts come in the order of the log, and may come twice."""

    is_over: bool = False
    _begun: int = 0
    _begun_on: int = 0
    _last_start: int = 0
    _due: datetime | None = None
    _links: list[Link[RefT]] = field(default_factory=list)
    _on_record: set[str] = field(default_factory=set)
    _micro_usd: dict[int, int] = field(default_factory=dict)

    def start(self, sequence: int, attempt: int, delivery_count: int) -> None:
        """An attempt was begun, on this delivery of its request."""
        self._begun, self._last_start = max(self._begun, attempt), sequence
        self._begun_on = max(self._begun_on, delivery_count)

    def add_segment(self, attempt: int, link: Link[RefT], usage: Usage) -> None:
        """A part of the exchange was published."""
        if link.words.sha256 not in self._on_record:
            self._links.append(link)
            self._on_record.add(link.words.sha256)
        self._spend(attempt, usage)

    def schedule_retry(self, attempt: int, due: datetime, usage: Usage | None, transcript: RefT | None) -> None:
        """An attempt failed for now."""
        if attempt >= self._begun:
            self._due = due
        if transcript is not None:
            self._on_record.add(transcript.sha256)
        self._spend(attempt, usage)

    def end(self) -> None:
        """The run has its result, or failed for good."""
        self.is_over = True

    def plan(self, delivery_count: int, now: datetime, policy: RetryPolicy = ATTEMPTS) -> Plan[RefT]:
        """What a worker that holds the request has to do, decided from the history and nothing else."""
        if self.is_over:
            return Nothing()
        following = next_attempt(self._begun, self._begun_on, self._due, delivery_count, now, policy)
        if not isinstance(following, int):
            return following
        return NextAttempt(
            following,
            self._last_start,
            follow_chain(self._links),
            frozenset(self._on_record),
            sum(self._micro_usd.values()),
        )

    def _spend(self, attempt: int, usage: Usage | None) -> None:
        cost = (usage.cost_micro_usd if usage else None) or 0
        self._micro_usd[attempt] = max(self._micro_usd.get(attempt, 0), cost)
