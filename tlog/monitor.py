"""What a monitor stores about a log, and when it raises an alarm. Pure.

A monitor reads every leaf once. It stores little: the edge of the tree, when the newest leaf was entered, and leaves to
which a later one must refer. So each visit checks both that the leaves are those under the note, and that they continue
what was seen before.
Source: row TR-15 of docs/requirements/trust.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, Literal

from tlog.checkpoint import Checkpoint
from tlog.leaf import Kind, find_leaf
from tlog.merkle import Tree, hash_leaf

CLOCKS: Final = timedelta(minutes=5)
"""How far clocks may differ: leaves are dated by the log of events, whose leader may change."""
ERASED_PER_CENT: Final = 10
"""Of its results and all earlier leaves, the most that one visit may erase: mistakes could be hidden as erasures."""
_MILLISECOND: Final = timedelta(milliseconds=1)
FEW: Final = 20
"""So few erasures in one visit never raise an alarm. Units: leaves."""

LONGEST_HOLD: Final = timedelta(days=7)
"""A hold without an end after that time belongs to an investigation that failed."""

PendingState = Literal["HELD", "RELEASED", "WITHHELD", "COMMITTED"]
_CHANGES: Final[frozenset[Kind]] = frozenset({"released", "suspended", "retracted"})
_RESULTS: Final[frozenset[Kind]] = frozenset({"found", "nothing_found", "failed", "cancelled"})


@dataclass(frozen=True, slots=True)
class Pending:
    """A held finding that no result has published, or a list of controls that is not open. Units: `t` as in leaves."""

    state: PendingState
    t: int


@dataclass(frozen=True, slots=True)
class Seen:
    """What a monitor knows of a log. Units: `newest` is milliseconds since 1970, of the newest leaf.

    Shapes: `pending` by the index of the leaf; `earlier` investigations from before the log have no leaf yet.
    """

    tree: Tree = field(default_factory=Tree)
    newest: int = 0
    earlier: int = 0
    pending: Mapping[int, Pending] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Visit:
    """What a visit found: the note's checkpoint, the leaves that are new since, and the monitor's own time.

    `signed_at` is the latest time that a witness states; None: none did.
    """

    checkpoint: Checkpoint
    leaves: Sequence[bytes]
    now: datetime
    signed_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Alarm:
    """Something that an honest log does not do. `index`: of the leaf, if it is about one."""

    what: str
    index: int | None = None

    def __str__(self) -> str:
        """A line for people."""
        return self.what if self.index is None else f"leaf {self.index}: {self.what}"


def inspect(seen: Seen, visit: Visit, stale_after: timedelta) -> tuple[Seen, tuple[Alarm, ...]]:
    """The state after the visit, and every alarm; an alarm about the tree leaves the state as it was."""
    broken = tuple(_inspect_tree(seen, visit))
    if broken:
        return seen, broken
    pending = dict(seen.pending)
    alarms = (
        *_inspect_leaves(seen, visit),
        *_inspect_order(pending, seen.tree.size, visit.leaves),
        *_inspect_age(visit, stale_after),
    )
    newest = max([seen.newest, *(leaf.t for leaf in map(find_leaf, visit.leaves) if leaf is not None)])
    oldest = newest - LONGEST_HOLD / _MILLISECOND
    kept = {index: each for index, each in pending.items() if each.state == "COMMITTED" or each.t >= oldest}
    earlier = max(0, seen.earlier + _count_earlier(visit.leaves))
    return Seen(seen.tree.append(map(hash_leaf, visit.leaves)), newest, earlier, kept), alarms


def _inspect_tree(seen: Seen, visit: Visit) -> Iterator[Alarm]:
    size = visit.checkpoint.size
    if size < seen.tree.size:
        yield Alarm(f"the tree shrank from {seen.tree.size} leaves to {size}")
    elif len(visit.leaves) != size - seen.tree.size:
        yield Alarm(f"{len(visit.leaves)} leaves were served instead of {size - seen.tree.size}")
    elif seen.tree.append(map(hash_leaf, visit.leaves)).root() != visit.checkpoint.root:
        what = "another history than before" if not visit.leaves else "other leaves, or another history than before"
        yield Alarm(f"the signed root is not that of the leaves: {what}")


def _inspect_leaves(seen: Seen, visit: Visit) -> Iterator[Alarm]:
    latest, results, erased, earlier = seen.newest, 0, 0, seen.earlier
    soonest = (visit.now + CLOCKS).timestamp() * 1_000
    for index, data in enumerate(visit.leaves, seen.tree.size):
        leaf = find_leaf(data)
        if leaf is None:
            yield Alarm("not of the form that leaves have", index)
            continue
        if (index == 0) != (leaf.k == "log" and leaf.why == "OPENED"):
            yield Alarm("a log begins with its opening, once", index)
        if leaf.t + CLOCKS.total_seconds() * 1_000 < latest:
            yield Alarm("dated before an earlier leaf", index)
        if leaf.t > soonest:
            yield Alarm("dated in the future", index)
        if any(each >= index for each in leaf.ref):
            yield Alarm("refers to a later leaf", index)
        earlier += _count_earlier([data])
        if (leaf.k == "control_opened" and not leaf.ref) or earlier < 0:
            yield Alarm(f"{leaf.k} without the leaf that it is about", index)
            earlier = max(0, earlier)
        latest = max(latest, leaf.t)
        results += leaf.k in _RESULTS
        erased += len(leaf.ref) if leaf.k == "redacted" else leaf.k == "erased"
    if erased > max(FEW, (results + seen.tree.size) * ERASED_PER_CENT // 100):
        yield Alarm(f"{erased} leaves were erased at once")


def _count_earlier(leaves: Sequence[bytes]) -> int:
    """Investigations from before the log: those that its opening names, minus those that a leaf changes."""
    parsed = [leaf for leaf in map(find_leaf, leaves) if leaf is not None]
    named = sum(leaf.n or 0 for leaf in parsed if leaf.k == "log" and leaf.why == "OPENED")
    return named - sum(leaf.k in _CHANGES and not leaf.ref for leaf in parsed)


def _inspect_order(pending: dict[int, Pending], size: int, leaves: Sequence[bytes]) -> Iterator[Alarm]:
    """Check that no finding is published before its hold ends, and no control runs before its list is committed to."""
    for index, leaf in enumerate(map(find_leaf, leaves), size):
        if leaf is None:
            continue
        match leaf.k:
            case "held":
                pending[index] = Pending("HELD", leaf.t)
            case "hold_ended":
                for held in leaf.ref:
                    if (known := pending.get(held)) is None:
                        continue
                    if known.t + (leaf.h or 0) > leaf.t + CLOCKS / _MILLISECOND:
                        yield Alarm("a hold ended before its time", index)
                    pending[held] = Pending("RELEASED" if leaf.why == "RELEASED" else "WITHHELD", known.t)
            case "found":
                states = {known.state for held in leaf.ref if (known := pending.pop(held, None)) is not None}
                if states - {"RELEASED"}:
                    yield Alarm("a finding was published whose hold was not over", index)
            case "control_committed":
                pending[index] = Pending("COMMITTED", leaf.t)
            case "control_opened" if leaf.ref:
                lists = [each for each in leaf.ref if each in pending and pending[each].state == "COMMITTED"]
                if len(lists) != 1:
                    yield Alarm("it opens a list of controls that was not committed to", index)
                elif min(leaf.ref) < lists[0]:
                    yield Alarm("a control ran before its list was committed to", index)
                for each in lists:
                    del pending[each]


def _inspect_age(visit: Visit, stale_after: timedelta) -> Iterator[Alarm]:
    if visit.signed_at is None:
        return
    if visit.now - visit.signed_at > stale_after:
        yield Alarm(f"no witness has cosigned since {visit.signed_at:%Y-%m-%d %H:%M} UTC")
    if visit.signed_at > visit.now + CLOCKS:
        yield Alarm(f"a witness dates its cosignature in the future, {visit.signed_at:%Y-%m-%d %H:%M} UTC")
