"""Decide which attempt of a paid run comes next, when, and from which segment it resumes, for runs of every kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Generic, NamedTuple, Protocol, TypeVar

from contracts.v1.investigation import FailureClass


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How failed attempts are retried. Units: seconds; `longest_s` limits the wait that a provider asks for."""

    max_attempts: int = 4
    base_s: float = 10.0
    longest_s: float = 900.0

    def delay_s(self, attempt: int, failure: FailureClass, asked_s: float | None = None) -> float | None:
        """Seconds until the next attempt after number `attempt` (from 1) failed; None if there is none.

        Units: 10, 20, 40 seconds, or what the provider asked for if that is longer. Source: requirements 3.7.
        """
        if failure != "TRANSIENT" or attempt >= self.max_attempts:
            return None
        return max(self.base_s * 2.0 ** (attempt - 1), min(asked_s or 0.0, self.longest_s))

    def left_s(self, due: datetime | None, now: datetime) -> float:
        """Seconds until a scheduled attempt is due, at most `longest_s` even if the clock was set back."""
        return 0.0 if due is None else min(max(0.0, (due - now).total_seconds()), self.longest_s)


ATTEMPTS: Final = RetryPolicy()
"""For attempts of a run. Delays are short, as a reader waits and a reader's key is stored for half an hour."""
REVIEWS: Final = RetryPolicy(longest_s=600.0)
"""For reviews of one claim."""


class Ref(Protocol):
    """A reference to a stored text by its hash."""

    @property
    def sha256(self) -> str: ...


RefT = TypeVar("RefT", bound=Ref)


@dataclass(frozen=True)
class NothingToDo:
    """The result exists, or another worker will publish it."""


@dataclass(frozen=True)
class OwnedByOtherWorker:
    """Another worker began an attempt on this delivery of the request, or on a later one."""


@dataclass(frozen=True)
class NotDue:
    """The next attempt is scheduled for later. Units: `left_s` seconds until then."""

    left_s: float


@dataclass(frozen=True)
class Exhausted:
    """No attempt is left, and there is no result."""


def next_attempt(
    begun: int,
    begun_on: int,
    due: datetime | None,
    delivery_count: int,
    now: datetime,
    policy: RetryPolicy = ATTEMPTS,
) -> int | OwnedByOtherWorker | Exhausted | NotDue:
    """The number of the attempt to begin, from 1, or why there is none.

    Shapes: `begun` counts the attempts, the newest of which was begun on delivery `begun_on`; `delivery_count` numbers
    the deliveries of the request from 1, 0 if another worker has the message too. If an attempt was begun on this
    delivery or a later one, it is in progress, and another one would be paid twice. A delivery arrives before `due` if
    the worker that scheduled the attempt died before it postponed the message.
    """
    if begun_on >= delivery_count:
        return OwnedByOtherWorker()
    if begun >= policy.max_attempts:
        return Exhausted()
    if left_s := policy.left_s(due, now):
        return NotDue(left_s)
    return begun + 1


class Link(NamedTuple, Generic[RefT]):
    """A published segment of a transcript, and the hash of the one before it, None for the first."""

    words: RefT
    before: str | None


def follow_chain(links: Sequence[Link[RefT]]) -> tuple[RefT, ...]:
    """The segments that lead to the last one of `links`, in order; empty if one is missing.

    There may be several branches: two workers may have resumed from the same segment, each assuming the other dead.
    """
    by_hash = {link.words.sha256: link for link in links}
    found: list[RefT] = []
    last = links[-1] if links else None
    while last is not None:
        found.append(last.words)
        if last.before is None:
            return tuple(reversed(found))
        last = by_hash.pop(last.before, None)
    return ()
