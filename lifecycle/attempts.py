"""Which attempt of a paid run comes next, and from which segment it resumes, for runs of every kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, NamedTuple, Protocol, TypeVar

from lifecycle.retries import ATTEMPTS, RetryPolicy


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
    """Another worker began an attempt on this delivery of the request or a later one."""


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
    delivery or a later one, it is under way, and another one would be paid twice. A delivery that arrives before `due`
    was not postponed because the worker that scheduled the attempt died first.
    """
    if begun_on >= delivery_count:
        return OwnedByOtherWorker()
    if begun >= policy.max_attempts:
        return Exhausted()
    if left_s := policy.left_s(due, now):
        return NotDue(left_s)
    return begun + 1


class Link(NamedTuple, Generic[RefT]):
    """A published segment of a transcript, and the hash of the one before it; None: the first."""

    words: RefT
    before: str | None


def follow_chain(links: Sequence[Link[RefT]]) -> tuple[RefT, ...]:
    """The segments that lead to the last of these, in order; empty if one is missing.

    Two workers may have resumed from the same segment, each taking the other for dead.
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
