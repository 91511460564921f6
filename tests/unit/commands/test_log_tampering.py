"""A monitor with an export notices each of twelve ways to tamper with a log, and nothing of an honest one."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Final

import orjson
import pytest

from contracts.v1 import ControlCommitted, ControlOpened, ErasureOrdered, Event
from contracts.v1.control import OpenedControl, commit_to
from contracts.v1.erasure import ErasedFact
from services.commands.log.exported import Claim, Exported, ExportedLeaf, Opened, compare
from services.notary.placing import Known, Placed, place
from tests.support.notaries import KEY, OPENED
from tests.unit.notary.test_decisions import facts_of
from tests.unit.projector.histories import Page, Tape, digest, uid
from tlog.checkpoint import Checkpoint
from tlog.leaf import Leaf, parse_leaf
from tlog.merkle import Tree, hash_leaf
from tlog.monitor import Alarm, Seen, Visit, inspect

DAY: Final = timedelta(days=1)
HOLD: Final = timedelta(minutes=15)
SHOWN, HELD, ERASED, TRUE = (Page(f"en:{number}") for number in range(4))
_SALTS: Final = [(TRUE.version_id, digest("salt"))]
COMMITTED: Final = ControlCommitted(commitment=commit_to(_SALTS), size=1, closes_at=datetime.max.replace(tzinfo=UTC))
CONTROL: Final = TRUE.checked_again("CONTROL", COMMITTED.batch_id)
CONTROLS_OPENED: Final = ControlOpened(
    follows=1,
    batch_id=COMMITTED.batch_id,
    controls=tuple(OpenedControl(version_id=id_, salt=salt, outcome="CLEAN") for id_, salt in _SALTS),
)


def hold_of(page: Page) -> tuple[Event, Event]:
    """The claim of a page is held, and its hold ends."""
    approval = page.approved(0)
    return page.held(approval), page.let_go(approval, int(HOLD.total_seconds()))


@dataclass(frozen=True, slots=True)
class Instance:
    """A log with what its operator shows: leaves under the note, those that are served, and an export."""

    leaves: Sequence[bytes]
    exported: Exported
    served: Sequence[bytes] | None = None
    seen: Seen = field(default_factory=Seen)
    signed_after: timedelta = timedelta()

    def visit(self) -> list[Alarm]:
        """What a monitor says of it."""
        newest = max(each.t for each in map(parse_leaf, HONEST.leaves))
        now = datetime.fromtimestamp(newest / 1_000, UTC) + timedelta(minutes=1)
        checkpoint = Checkpoint(KEY.name, len(self.leaves), Tree().append(map(hash_leaf, self.leaves)).root())
        served = self.leaves if self.served is None else self.served
        visit = Visit(checkpoint, served[self.seen.tree.size :], now, now - self.signed_after)
        _, alarms = inspect(self.seen, visit, DAY)
        return [*alarms, *([] if alarms else compare(self.exported, served))]


def run(*happened: Event | timedelta, erased: Page | None = None) -> Instance:
    """What the notary makes of these facts, each a second after the one before, and all that is exported."""
    tape = Tape()
    for each in happened:
        if isinstance(each, timedelta):
            tape.now += each
        else:
            tape.add(each)
    if erased is not None:
        gone = tuple(
            ErasedFact(sequence=each.sequence, hash="0" * 64)
            for each in tape.records
            if str(erased.investigation_id).encode() in each.data
        )
        tape.add(ErasureOrdered(erasure_id=uid("e"), post_id=erased.post_id, reason="asked for", facts=gone))
    placed = place(facts_of(tape), {}, Known(), 0).placed
    return Instance([each.entry.leaf.encode() for each in placed], export(placed))


def export(placed: Sequence[Placed]) -> Exported:
    """All openings, and the findings in them."""
    openings = [
        Opened(leaf=each.index, j=o.j, salt=b64encode(o.salt).decode(), document=o.document.decode())
        for each in placed
        for o in each.entry.openings
    ]
    findings = [
        orjson.loads(each.document) for each in openings if each.j and placed[each.leaf].entry.leaf.k == "found"
    ]
    return Exported(
        claims=[Claim(id=str(each["claim"]), investigation_id="", **_words(each)) for each in findings],
        withdrawn_claims=[],
        leaves=[
            ExportedLeaf(
                leaf=each.index,
                standing="OPENED" if each.entry.openings else "ERASED" if each.entry.leaf.c else "EMPTY",
            )
            for each in placed
        ],
        openings=openings,
    )


def _words(finding: dict[str, str]) -> dict[str, str]:
    return {name: finding[name] for name in ("text", "context", "summary")}


HISTORY: Final = (
    OPENED,
    COMMITTED,
    CONTROL.completed(),
    *(SHOWN.completed((0, 1)), ERASED.completed((0,))),
    hold_of(HELD)[0],
    HOLD,
    hold_of(HELD)[1],
    HELD.completed((0,)),
    CONTROLS_OPENED,
    SHOWN.appealed(),
    SHOWN.decided(),
)
HONEST: Final = run(*HISTORY, erased=ERASED)
FOUND: Final = next(i for i, data in enumerate(HONEST.leaves) if parse_leaf(data).k == "found")


def without(*left_out: object) -> Instance:
    """The log of an operator who leaves these facts out."""
    return run(*(each for each in HISTORY if each not in left_out), erased=ERASED)


def seen(instance: Instance, size: int) -> Seen:
    """What a monitor knows that visited when there were so many leaves."""
    return _visited(instance.leaves[:size])


def _visited(leaves: Sequence[bytes]) -> Seen:
    checkpoint = Checkpoint(KEY.name, len(leaves), Tree().append(map(hash_leaf, leaves)).root())
    return inspect(Seen(), Visit(checkpoint, leaves, datetime.max.replace(tzinfo=UTC) - DAY), DAY)[0]


def changed(**update: object) -> Instance:
    """The same log with another export."""
    return replace(HONEST, exported=HONEST.exported.model_copy(update=update))


def altered(data: bytes) -> bytes:
    """Another leaf of the same kind."""
    return parse_leaf(data).model_copy(update={"n": 7}).encode()


def served(leaves: Iterable[bytes]) -> Instance:
    """The same note with other leaves."""
    return replace(HONEST, served=list(leaves))


def back_dated() -> Instance:
    last = parse_leaf(HONEST.leaves[-1])
    early = Leaf(k="failed", t=last.t - 3_600_000).encode()
    return replace(HONEST, leaves=[*HONEST.leaves, early])


def erase_silently() -> Instance:
    """What a leaf commits to is gone, and nothing says why."""
    instance = run(*HISTORY)
    about = [each.leaf for each in instance.exported.openings if str(SHOWN.investigation_id) in each.document]
    index = about[0]
    left = [each for each in instance.exported.openings if each.leaf != index]
    entries = [replace_standing(each, index) for each in instance.exported.leaves]
    claims = {str(orjson.loads(each.document).get("claim")) for each in left}
    shown = [each for each in instance.exported.claims if each.id in claims]
    return replace(
        instance,
        exported=instance.exported.model_copy(update={"openings": left, "leaves": entries, "claims": shown}),
    )


def replace_standing(entry: ExportedLeaf, index: int) -> ExportedLeaf:
    """The leaf of this index is erased."""
    return entry.model_copy(update={"standing": "ERASED"}) if entry.leaf == index else entry


def wrong_opening() -> Instance:
    """Another reason is shown than was logged; its claims are as they were."""
    openings = [
        each.model_copy(update={"document": each.document.replace("reasoning", "Reasoning")})
        if each.leaf == FOUND and each.j == 2
        else each
        for each in HONEST.exported.openings
    ]
    return changed(openings=openings)


L = HONEST.leaves
UNLOGGED = Claim(
    id=str(uid("other")), investigation_id="i", text="It is so.", context="It is so.", summary="It is not."
)
TAMPERINGS: Final[dict[str, tuple[Callable[[], Instance], str]]] = {
    "altered leaf": (lambda: served([*L[:3], altered(L[3]), *L[4:]]), "not that of the leaves"),
    "missing leaf": (lambda: served([*L[:3], *L[4:]]), "leaves were served instead"),
    "reordered": (lambda: served([*L[:3], L[4], L[3], *L[5:]]), "not that of the leaves"),
    "fork": (lambda: replace(without(SHOWN.completed((0, 1))), seen=seen(HONEST, 6)), "another history"),
    "back-dated": (back_dated, "dated before an earlier leaf"),
    "unlogged flag": (
        lambda: changed(claims=[*HONEST.exported.claims, UNLOGGED]),
        "no leaf under the note is about it",
    ),
    "flag before its hold": (lambda: without(HOLD), "a hold ended before its time"),
    "commitment after the run": (
        lambda: run(OPENED, CONTROL.completed(), COMMITTED, *HISTORY[3:], erased=ERASED),
        "a control ran before its list was committed to",
    ),
    "erased without redacted": (erase_silently, "no leaf says that it was erased"),
    "wrong opening": (wrong_opening, "is not what it commits to"),
    "stale note": (lambda: replace(HONEST, signed_after=2 * DAY), "no witness has cosigned"),
    "smaller tree": (lambda: replace(HONEST, leaves=L[:-1], seen=seen(HONEST, len(L))), "the tree shrank"),
}


def test_an_honest_log_raises_no_alarm() -> None:
    kinds = {parse_leaf(data).k for data in HONEST.leaves}
    assert kinds >= {"found", "held", "hold_ended", "control_committed", "control_opened", "appeal_opened", "redacted"}
    assert {each.standing for each in HONEST.exported.leaves} == {"OPENED", "ERASED", "EMPTY"}
    assert HONEST.visit() == []
    for size in range(1, len(HONEST.leaves) + 1):
        assert replace(HONEST, seen=seen(HONEST, size)).visit() == []


@pytest.mark.parametrize("name", TAMPERINGS)
@pytest.mark.requirement("TR-15")
def test_each_tampering_raises_an_alarm(name: str) -> None:
    """TR-15: A monitor raises an alarm on each way to tamper with the log, and on no honest log."""
    assert len(TAMPERINGS) == 12
    tampered, what = TAMPERINGS[name]
    alarms = [str(each) for each in tampered().visit()]
    assert [each for each in alarms if what in each], alarms


def test_a_result_is_published_while_its_claim_is_still_held() -> None:
    (alarm,) = without(hold_of(HELD)[1]).visit()
    assert "whose hold was not over" in str(alarm)


def test_findings_from_before_the_log_need_no_leaf() -> None:
    late = run(OPENED.model_copy(update={"earlier": 1}), *HISTORY[1:], erased=ERASED)
    same = UNLOGGED.model_copy(update={"id": str(uid("same"))})
    another = UNLOGGED.model_copy(update={"id": str(uid("another")), "investigation_id": "j"})

    def alarms(*earlier: Claim) -> list[str]:
        shown = late.exported.model_copy(update={"claims": [*late.exported.claims, *earlier]})
        return [str(each) for each in replace(late, exported=shown).visit()]

    assert alarms(UNLOGGED, same) == [], "two findings of one investigation"
    assert [each for each in alarms(UNLOGGED, another) if "no leaf under the note is about it" in each]


def test_an_export_says_what_stands_beside_each_leaf() -> None:
    left = [each for each in HONEST.exported.leaves if each.leaf != FOUND]
    assert "does not say" in str(changed(leaves=left).visit()[0])
    few = [each for each in HONEST.exported.openings if (each.leaf, each.j) != (FOUND, 0)]
    assert [str(each) for each in changed(openings=few).visit()] == [
        f"leaf {FOUND}: 2 of 3 documents are in the export, which calls it opened"
    ]
    older = [each for each in HONEST.exported.leaves if each.leaf < FOUND]
    assert changed(leaves=older).visit() == [], "the export is older than the note"
