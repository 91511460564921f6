"""Stores reviewers' verdicts on findings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import Final
from uuid import UUID

from sqlalchemy import text

from contracts.v1 import ReviewDecided
from kit.bus import Bus
from kit.clock import Clock
from kit.database import Database
from kit.history import read_latest_from_leader
from services.commands.reviews.samples import wait_for_projection
from services.commands.reviews.sheet import BadSheet, GivenVerdict

_STANDING: Final = text("""
    SELECT DISTINCT ON (c.claim_id) c.claim_id, c.sample_id, r.verdict
    FROM review_sample_claim c JOIN review_sample s ON s.id = c.sample_id
    LEFT JOIN review r ON r.claim_id = c.claim_id AND r.reviewer = :reviewer
    WHERE c.claim_id = ANY (CAST(:claims AS uuid[]))
    ORDER BY c.claim_id, s.drawn_at DESC, s.id
""")


@dataclass(frozen=True, slots=True)
class Imported:
    """How many verdicts were stored, and how many the reviewer had given before."""

    stored: int
    known: int


@dataclass(frozen=True, slots=True)
class _Standing:
    """The newest sample of a finding, and the reviewer's verdict on the finding."""

    sample_id: UUID
    verdict: str | None


async def import_verdicts(
    bus: Bus, database: Database, clock: Clock, given: Sequence[GivenVerdict], reviewer: str
) -> Imported:
    """Store the verdicts that the reviewer has not given yet.

    Raises: BadSheet: a verdict is on a finding that was not drawn; nothing is stored. Outage, BusError.
    click.ClickException: the tables lag behind.
    """
    await wait_for_projection(bus, database)
    standing = await _read_standing(database, [each.claim_id for each in given], reviewer)
    for each in given:
        if each.claim_id not in standing:
            raise BadSheet(f"line {each.line}: {each.claim_id} is in no sample, or was erased")
    new = [each for each in given if standing[each.claim_id].verdict != each.verdict.value]
    today = clock.now().astimezone(UTC).date()
    for each in new:
        event = ReviewDecided(
            claim_id=each.claim_id,
            sample_id=standing[each.claim_id].sample_id,
            verdict=each.verdict.value,
            reviewer=reviewer,
            decided_on=today,
        )
        await _publish(bus, clock, event)
    return Imported(len(new), len(given) - len(new))


async def _read_standing(database: Database, claims: Iterable[UUID], reviewer: str) -> dict[UUID, _Standing]:
    async with database.connect() as connection:
        rows = await connection.execute(_STANDING, {"claims": list(claims), "reviewer": reviewer})
        return {row.claim_id: _Standing(row.sample_id, row.verdict) for row in rows}


async def _publish(bus: Bus, clock: Clock, event: ReviewDecided) -> None:
    while True:  # a refusal means that another reviewer's verdict on the finding was stored
        newest = await read_latest_from_leader(bus, event.subject())
        follows = newest[-1].sequence if newest else 0
        if await bus.publish_if_first(event.model_copy(update={"follows": follows}), clock.new_id()):
            return
