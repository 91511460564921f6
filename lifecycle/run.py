"""The history of one run of any kind: other code folds its events into it, and rules that all runs share plan it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Generic

from contracts.v1.parts import Usage
from lifecycle.attempts import (
    ATTEMPTS,
    Exhausted,
    Link,
    NotDue,
    NothingToDo,
    OwnedByOtherWorker,
    RefT,
    RetryPolicy,
    follow_chain,
    next_attempt,
)


@dataclass(frozen=True, slots=True)
class NextAttempt(Generic[RefT]):
    """Start attempt number `attempt` after the start at sequence `follows`, and resume from the segments in `done`.

    Shapes: `on_record` are the hashes of all segments and transcripts in the log. Units: `spent_micro_usd` is the cost
    of all attempts so far.
    """

    attempt: int
    follows: int
    done: tuple[RefT, ...]
    on_record: frozenset[str]
    spent_micro_usd: int


Plan = NextAttempt[RefT] | NothingToDo | OwnedByOtherWorker | Exhausted | NotDue


@dataclass(slots=True)
class RunHistory(Generic[RefT]):
    """The history of one run. Events are applied in the order of the log, and may arrive twice."""

    is_over: bool = False
    _begun: int = 0
    _begun_on: int = 0
    _last_start: int = 0
    _due: datetime | None = None
    _links: list[Link[RefT]] = field(default_factory=list)
    _on_record: set[str] = field(default_factory=set)
    _micro_usd: dict[int, int] = field(default_factory=dict)

    @property
    def attempts(self) -> int:
        """The number of the last attempt that was begun, 0 if none was."""
        return self._begun

    def start(self, sequence: int, attempt: int, delivery_count: int) -> None:
        """Record that an attempt was begun on this delivery of its request."""
        self._begun, self._last_start = max(self._begun, attempt), sequence
        self._begun_on = max(self._begun_on, delivery_count)

    def add_segment(self, attempt: int, link: Link[RefT], usage: Usage) -> None:
        """Record that a segment of the transcript was published."""
        if link.words.sha256 not in self._on_record:
            self._links.append(link)
            self._on_record.add(link.words.sha256)
        self._spend(attempt, usage)

    def schedule_retry(self, attempt: int, due: datetime, usage: Usage | None, transcript: RefT | None) -> None:
        """Record that an attempt failed and is retried."""
        if attempt >= self._begun:
            self._due = due
        if transcript is not None:
            self._on_record.add(transcript.sha256)
        self._spend(attempt, usage)

    def end(self) -> None:
        """Record that the run has its result, or failed for good."""
        self.is_over = True

    def plan(self, delivery_count: int, now: datetime, policy: RetryPolicy = ATTEMPTS) -> Plan[RefT]:
        """Decide what a worker that holds the request has to do, from the history alone."""
        if self.is_over:
            return NothingToDo()
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
