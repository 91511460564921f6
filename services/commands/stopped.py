"""Releases findings that a breaker suspended, once it is closed: each by its own rules, a few hundred at a time."""

from __future__ import annotations

from collections import Counter
from typing import Final
from uuid import UUID

import click
from sqlalchemy import text

from contracts.v1 import FindingChanged
from kit.bus import Bus
from kit.clock import Clock
from kit.database import Database
from kit.history import read_history
from lifecycle.findings import FindingHistory, Refused, Wanted, change
from services.curator.breaking import EVERY, NEW, KnownBreaker
from services.curator.record.reading import read_rows
from services.curator.taking_back import Standing
from services.curator.watch import STOPPED

BATCH: Final = 500
_FIRST: Final = UUID(int=0)
# A finding with another cause, or a note of its own, was not suspended by a breaker.
_SUSPENDED: Final = text("""
    SELECT f.claim_id, f.investigation_id, f.sequence
    FROM finding_state f JOIN investigation i ON i.id = f.investigation_id
    WHERE f.claim_id > :after AND f.state = 'SUSPENDED' AND f.cause = 'CONTROL' AND f.note = :note
        AND (CAST(:variant AS text) IS NULL OR i.variant = :variant)
        AND NOT EXISTS (SELECT FROM breaker b WHERE b.state <> 'CLOSED' AND b.scope IN ('ALL', 'NEW', i.variant))
        AND NOT EXISTS (SELECT FROM review r WHERE r.claim_id = f.claim_id AND r.verdict = 'WRONG')
    ORDER BY f.claim_id LIMIT :limit
""")


async def release_stopped(bus: Bus, database: Database, clock: Clock, breaker: KnownBreaker, note: str) -> str:
    """Release the findings of a scope that no breaker stops any more; returns the message.

    Findings that an outside review found WRONG, or that may not be released now, stay suspended. After an interruption
    the next call releases the rest. Raises: click.ClickException: the breaker is not closed; nothing changes.
    """
    if breaker.state != "CLOSED":
        raise click.ClickException(
            f"{breaker.scope} is {breaker.state}; only what a closed breaker stopped is released"
        )
    variant = None if breaker.scope in (EVERY, NEW) else breaker.scope
    wanted = Wanted(state="RELEASED", cause="OPERATOR", note=note)
    released, left = 0, Counter[str]()
    after = _FIRST
    while batch := await read_rows(
        database, Standing, _SUSPENDED, after=after, note=STOPPED, variant=variant, limit=BATCH
    ):
        for each in batch:
            match await _release(bus, clock, each, wanted):
                case None:
                    released += 1
                case str(why):
                    left[why] += 1
        after = batch[-1].claim_id
    lines = [f"{released} released", *(f"{number} left: {why}" for why, number in sorted(left.items()))]
    return "\n".join(lines)


async def _release(bus: Bus, clock: Clock, finding: Standing, wanted: Wanted) -> str | None:
    """Release a finding; None, or why it was not released."""
    history = FindingHistory(claim_id=finding.claim_id, investigation_id=finding.investigation_id)
    history = history.fold(await read_history(bus, str(finding.claim_id)))
    if history.sequence != finding.sequence:
        return "it changed meanwhile"
    match change(history, wanted, clock.now()):
        case FindingChanged() as event:
            return None if await bus.publish_if_first(event, clock.new_id()) else "it changed meanwhile"
        case Refused(why):
            return why
        case _:
            return "it changed meanwhile"
