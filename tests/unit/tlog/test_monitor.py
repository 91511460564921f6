"""A monitor raises an alarm on each way to tamper with a log, and on no honest log."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.notary.placing import Known, place
from tests.support.notaries import KEY, OPENED
from tests.unit.notary.test_decisions import facts_of
from tests.unit.projector.histories import Tape, mixed
from tlog.checkpoint import Checkpoint
from tlog.leaf import Leaf, parse_leaf
from tlog.merkle import Tree, hash_leaf
from tlog.monitor import Alarm, Seen, Visit, inspect

DAY = timedelta(days=1)


@cache
def log_of(posts: int, seed: int = 0) -> tuple[bytes, ...]:
    """An honest log: what the notary makes of a busy day."""
    tape = Tape()
    tape.add(OPENED)
    for record in mixed(posts, seed)[0].records:
        tape.raw(record.subject, record.data)
    return tuple(each.entry.leaf.encode() for each in place(facts_of(tape), {}, Known(), 0).placed)


LEAVES = log_of(30)
NEWEST = max(parse_leaf(each).t for each in LEAVES)
NOW = datetime.fromtimestamp(NEWEST / 1_000, UTC) + timedelta(minutes=1)


def visit(
    leaves: Sequence[bytes],
    served: Sequence[bytes] | None = None,
    *,
    seen: Seen | None = None,
    signed_at: datetime | None = None,
) -> tuple[Seen, tuple[Alarm, ...]]:
    """A visit of a log whose note covers `leaves` and that serves others, if they are given."""
    seen = seen or Seen()
    checkpoint = Checkpoint(KEY.name, len(leaves), Tree().append(map(hash_leaf, leaves)).root())
    new = (leaves if served is None else served)[seen.tree.size :]
    return inspect(seen, Visit(checkpoint, new, NOW, signed_at), DAY)


def with_leaf(leaf: Leaf, at: int | None = None) -> list[bytes]:
    """The log with a leaf more, signed as if it belonged there."""
    at = len(LEAVES) if at is None else at
    return [*LEAVES[:at], leaf.encode(), *LEAVES[at:]]


@given(seed=st.integers(0, 30), cuts=st.lists(st.integers(1, 40), max_size=4))
def test_an_honest_log_raises_no_alarm(seed: int, cuts: list[int]) -> None:
    leaves = log_of(20, seed)
    seen = Seen()
    for size in sorted({*(min(cut, len(leaves)) for cut in cuts), len(leaves)}):
        seen, alarms = visit(leaves[:size], seen=seen, signed_at=NOW)
        assert alarms == ()
        assert seen.tree.size == size


TAMPERINGS: dict[str, Callable[[], tuple[Seen, tuple[Alarm, ...]]]] = {
    "altered leaf": lambda: visit(LEAVES, [*LEAVES[:7], Leaf(k="failed", t=NEWEST).encode(), *LEAVES[8:]]),
    "missing leaf": lambda: visit(LEAVES, [*LEAVES[:7], *LEAVES[8:]]),
    "reordered": lambda: visit(LEAVES, [*LEAVES[:7], LEAVES[8], LEAVES[7], *LEAVES[9:]]),
    "fork": lambda: visit([*LEAVES[:9], *LEAVES[10:]], seen=visit(LEAVES[:12])[0]),
    "fork of the same size": lambda: visit([*LEAVES[:-1], LEAVES[0]], seen=visit(LEAVES)[0]),
    "back-dated": lambda: visit(with_leaf(Leaf(k="failed", t=NEWEST - 3_600_000))),
    "back-dated since the last visit": lambda: visit(
        with_leaf(Leaf(k="failed", t=NEWEST - 3_600_000)), seen=visit(LEAVES)[0]
    ),
    "dated in the future": lambda: visit(with_leaf(Leaf(k="failed", t=NEWEST + 3_600_000))),
    "smaller tree": lambda: visit(LEAVES[:9], seen=visit(LEAVES)[0]),
    "stale note": lambda: visit(LEAVES, signed_at=NOW - 2 * DAY),
    "cosigned in the future": lambda: visit(LEAVES, signed_at=NOW + DAY),
    "no leaf": lambda: visit([*LEAVES, b'{"k":"found"}']),
    "began twice": lambda: visit(with_leaf(Leaf(k="log", t=NEWEST, why="OPENED"))),
    "never began": lambda: visit([Leaf(k="failed", t=NEWEST).encode()]),
    "refers to what comes later": lambda: visit(with_leaf(Leaf(k="retracted", t=NEWEST, ref=(10_000,)))),
    "opens controls that it did not commit to": lambda: visit(with_leaf(Leaf(k="control_opened", t=NEWEST))),
    "takes back nothing": lambda: visit(with_leaf(Leaf(k="retracted", t=NEWEST))),
    "publishes what it withheld": lambda: visit(
        [
            *LEAVES,
            Leaf(k="held", t=NEWEST).encode(),
            Leaf(k="hold_ended", t=NEWEST, h=0, why="WITHHELD", ref=(len(LEAVES),)).encode(),
            Leaf(k="found", t=NEWEST, n=1, ref=(len(LEAVES),)).encode(),
        ]
    ),
    "one of two controls ran before its list": lambda: visit(
        [
            *LEAVES,
            Leaf(k="nothing_found", t=NEWEST).encode(),
            Leaf(k="control_committed", t=NEWEST, n=2).encode(),
            Leaf(k="nothing_found", t=NEWEST).encode(),
            Leaf(k="control_opened", t=NEWEST, ref=tuple(len(LEAVES) + n for n in range(3))).encode(),
        ]
    ),
    "many erasures": lambda: visit(with_leaf(Leaf(k="redacted", t=NEWEST, ref=tuple(range(1, 30))))),
}


@pytest.mark.parametrize("name", TAMPERINGS)
@pytest.mark.requirement("TR-15")
def test_each_tampering_raises_an_alarm(name: str) -> None:
    """TR-15: A monitor raises an alarm on each way to tamper with the log, and on no honest log."""
    assert len(TAMPERINGS[name]()[1]) == 1


def test_what_the_log_began_with_may_be_taken_back_once_each() -> None:
    opening = Leaf(k="log", t=NEWEST, n=2, why="OPENED").encode()
    first, second = (Leaf(k=kind, t=NEWEST).encode() for kind in ("suspended", "retracted"))
    again = Leaf(k="released", t=NEWEST, ref=(1,)).encode()
    seen, alarms = visit([opening, first, again])
    assert (seen.earlier, alarms) == (1, ())
    seen, alarms = visit([opening, first, again, second], seen=seen)
    assert (seen.earlier, alarms) == (0, ())
    seen, alarms = visit([opening, first, again, second, first], seen=seen)
    assert (seen.earlier, list(map(str, alarms))) == (0, ["leaf 4: suspended without the leaf that it is about"])


def test_what_follows_a_wrong_tree_is_not_believed() -> None:
    seen, _ = visit(LEAVES[:12])
    again, alarms = visit([*LEAVES[:9], *LEAVES[10:]], seen=seen)
    assert (again, len(alarms)) == (seen, 1)
    assert visit(LEAVES, seen=again)[1] == ()
