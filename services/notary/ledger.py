"""Reads from the ledger what the decision log is made of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from contracts.topology import ERRATA
from contracts.v1 import (
    ClaimApproved,
    ClaimRejected,
    Event,
    InvestigationCompleted,
    InvestigationDrafted,
    InvestigationStarted,
    LogChanged,
    Undecodable,
    decode,
)
from contracts.v1.event import event_id
from contracts.v1.ids import log_id
from kit.database import Session
from services.notary.decisions import LOGGED, Fact, find_attempt, find_verdicts
from services.notary.documents import Run

_SUBJECTS: Final = [f"{event.SUBJECT}.%" for event in LOGGED]
_FACTS: Final = """
    SELECT sequence, event_id, subject, stored_at, CASE WHEN subject LIKE ANY (%(subjects)s) THEN envelope END
    FROM ledger.fact WHERE stream = %(stream)s AND sequence > %(after)s ORDER BY sequence LIMIT %(limit)s"""
_BY_ID: Final = """
    SELECT DISTINCT ON (event_id) sequence, subject, envelope FROM ledger.fact
    WHERE event_id = ANY (%(ids)s) AND stream = %(stream)s AND envelope <> '' ORDER BY event_id, sequence"""


@dataclass(frozen=True, slots=True)
class Page:
    """Successive facts. Shapes: `looked_at` is their number, `last` the sequence of the last; `facts` the decisions."""

    last: int
    looked_at: int
    facts: Sequence[Fact]


async def read_page(db: Session, after: int, limit: int) -> Page:
    """The next facts; those that cannot be decoded are no decisions."""
    found = await db.execute(
        _FACTS, {"subjects": _SUBJECTS, "stream": ERRATA.name, "after": after, "limit": limit}, binary=True
    )
    rows = await found.fetchall()
    facts: list[Fact] = []
    for sequence, id_, subject, stored_at, envelope in rows:
        if id_ is None or envelope is None:
            continue
        if not envelope:
            facts.append(Fact(sequence, id_, stored_at, None, None))
            continue
        try:
            decoded = decode(subject, bytes(envelope))
        except Undecodable:
            continue
        facts.append(Fact(sequence, id_, stored_at, decoded.event, decoded.salt))
    return Page(rows[-1][0] if rows else after, len(rows), facts)


async def read_runs(db: Session, facts: Iterable[Fact]) -> dict[UUID, Run]:
    """What led to each completed investigation, by its id; two queries for all of them."""
    completed = [fact.event for fact in facts if isinstance(fact.event, InvestigationCompleted)]
    if not completed:
        return {}
    attempts = await _read_by_id(db, [id_ for event in completed for id_ in find_attempt(event)])
    started = {each.investigation_id: each for each in attempts if isinstance(each, InvestigationStarted)}
    drafted = {each.investigation_id: each for each in attempts if isinstance(each, InvestigationDrafted)}
    wanted = [
        id_
        for event in completed
        if (draft := drafted.get(event.investigation_id))
        for id_ in find_verdicts(event, draft)
    ]
    verdicts: dict[UUID, dict[UUID, ClaimApproved | ClaimRejected]] = defaultdict(dict)
    for each in await _read_by_id(db, wanted):
        if isinstance(each, ClaimApproved | ClaimRejected):  # of a round's verdicts on a claim the first one counts
            verdicts[each.investigation_id].setdefault(each.claim_id, each)
    return {
        id_: Run(started.get(id_), drafted.get(id_), verdicts[id_])
        for id_ in (each.investigation_id for each in completed)
    }


async def read_changes(db: Session, origin: str) -> list[tuple[int, LogChanged]]:
    """What the operator decided about a log, in order, each with its sequence."""
    changes: list[tuple[int, LogChanged]] = []
    while True:
        follows = changes[-1][0] if changes else 0
        found = await db.execute(
            _BY_ID, {"ids": [event_id(LogChanged, log_id(origin), follows)], "stream": ERRATA.name}
        )
        row = await found.fetchone()
        if row is None:
            return changes
        event = decode(row[1], bytes(row[2])).event
        assert isinstance(event, LogChanged), "an id names one kind of event"
        changes.append((row[0], event))


async def _read_by_id(db: Session, ids: Sequence[UUID]) -> list[Event]:
    """The events with these ids that exist and are not erased, in the order of the log."""
    if not ids:
        return []
    found = await db.execute(_BY_ID, {"ids": ids, "stream": ERRATA.name}, binary=True)
    return [decode(subject, bytes(envelope)).event for _, subject, envelope in sorted(await found.fetchall())]
