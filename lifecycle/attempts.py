"""Which attempt of a paid run comes next, and where it goes on: the same for investigations and every other kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, NamedTuple, Protocol, TypeVar

from lifecycle.retries import ATTEMPTS, RetryPolicy


class Ref(Protocol):
    """Words by their hash."""

    @property
    def sha256(self) -> str: ...


RefT = TypeVar("RefT", bound=Ref)


@dataclass(frozen=True)
class Nothing:
    """The result is there, or on its way without us."""


@dataclass(frozen=True)
class OwnedByOtherWorker:
    """An attempt was begun on this delivery of the request, or a later one, by somebody else."""


@dataclass(frozen=True)
class NotDue:
    """The next attempt is scheduled for later. Units: `left_s` seconds until then."""

    left_s: float


@dataclass(frozen=True)
class Exhausted:
    """Every attempt was used up without a result."""


def next_attempt(
    begun: int,
    begun_on: int,
    due: datetime | None,
    delivery_count: int,
    now: datetime,
    policy: RetryPolicy = ATTEMPTS,
) -> int | OwnedByOtherWorker | Exhausted | NotDue:
    """The number of the attempt to begin, from 1, or why there is none.

    Shapes: `begun` counts the attempts that were begun, the newest of them on delivery `begun_on`; `delivery_count`
    numbers the deliveries of the request from 1, 0 is one that another worker has as well. One that reached its worker
    late, or twice, finds an attempt begun on one as late or later: that attempt is under way, and beginning another
    would pay for the same twice. One that comes before the attempt is `due` was put off by nobody: whoever scheduled
    the attempt died before it could.
    """
    if begun_on >= delivery_count:
        return OwnedByOtherWorker()
    if begun >= policy.max_attempts:
        return Exhausted()
    if left_s := policy.left_s(due, now):
        return NotDue(left_s)
    return begun + 1


class Link(NamedTuple, Generic[RefT]):
    """A published segment of an exchange, and the hash of the one before it, None if it begins a record."""

    words: RefT
    before: str | None


def follow_chain(links: Sequence[Link[RefT]]) -> tuple[RefT, ...]:
    """The segments that lead to the last of these, from the first on; none if one is missing.

    Two workers may have gone on from the same segment, each believing the other dead.
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
