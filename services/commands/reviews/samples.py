"""Draws published findings for review."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Final
from uuid import UUID

import click
from sqlalchemy import text

from accuracy.reviews import draw_sample
from contracts.topology import ERRATA
from contracts.v1 import ReviewSampled
from contracts.v1.ids import review_sample_id
from kit.bus import Bus
from kit.clock import Clock
from kit.database import Database
from kit.history import read_latest_from_leader
from kit.pages import read_last_sequence
from services.commands.database import read_positions
from tlog.checkpoint import Checkpoint
from tlog.encoding import encode_base64
from tlog.note import Note

POLL_S: Final = 0.1
TIMEOUT_S: Final = 15.0

_PUBLISHED: Final = text("""
    SELECT c.id FROM search_document d JOIN claim c USING (investigation_id)
    WHERE d.checked_at >= :start AND d.checked_at < :end
""")
_WORDS: Final = text("""
    SELECT c.id, c.investigation_id, c.ordinal, c.text, c.summary
    FROM unnest(CAST(:ids AS uuid[])) WITH ORDINALITY AS drawn (id, place) JOIN claim c USING (id) ORDER BY place
""")


_NOTE_AFTER: Final = text("""
    SELECT note FROM log.checkpoint WHERE signed_at >= :end AND witnessed_at IS NOT NULL ORDER BY size LIMIT 1
""")


@dataclass(frozen=True, slots=True)
class Period:
    """Whole days in UTC, both included."""

    first: date
    last: date

    def __post_init__(self) -> None:
        """Raises: ValueError: the period ends before it begins."""
        if self.first > self.last:
            raise ValueError(f"{self.first} is after {self.last}")

    @property
    def start(self) -> datetime:
        """The beginning of the first day."""
        return datetime.combine(self.first, time(), UTC)

    @property
    def end(self) -> datetime:
        """The end of the last day, which is the first moment after the period."""
        return datetime.combine(self.last, time(), UTC) + timedelta(days=1)


@dataclass(frozen=True, slots=True)
class SheetLine:
    """A finding as reviewers get it: its page, its quote, and the correction."""

    claim_id: UUID
    page: str
    quote: str
    correction: str


async def draw(
    bus: Bus, database: Database, clock: Clock, period: Period, *, size: int, seed: str, base: str
) -> list[SheetLine]:
    """Draw a sample unless it was drawn already; returns its findings in order, without erased ones.

    `base` is the address of the pages. Raises: click.ClickException: the period is not over, nothing was published in
    it, or the tables lag behind. Outage, BusError.
    """
    if period.last >= clock.now().astimezone(UTC).date():
        raise click.ClickException(f"{period.last} is not over in UTC; a sample is drawn from whole days")
    subject = f"{ReviewSampled.SUBJECT}.{review_sample_id(seed, period.first, period.last, size)}"
    sample = await _read_sample(bus, subject)
    if sample is None:
        await wait_for_projection(bus, database)
        async with database.connect() as connection:
            rows = await connection.execute(_PUBLISHED, {"start": period.start, "end": period.end})
            published = [id_ for (id_,) in rows]
        if not published:
            raise click.ClickException("nothing was published in these days")
        drawn = draw_sample(seed, published, size)
        sample = await _publish(
            bus,
            clock,
            subject,
            ReviewSampled(
                seed=seed,
                first_day=period.first,
                last_day=period.last,
                size=size,
                drawn_from=len(published),
                claim_ids=drawn,
            ),
        )
    async with database.connect() as connection:
        found = await connection.execute(_WORDS, {"ids": list(sample.claim_ids)})
        return [
            SheetLine(row.id, _link(base, row.investigation_id, row.ordinal + 1), row.text, row.summary)
            for row in found
        ]


def _link(base: str, investigation_id: UUID, number: int) -> str:
    return f"{base}/investigations/{investigation_id}?finding={number}#finding-{number}"


async def find_seed(database: Database, period: Period) -> str:
    """The root of the first note that a witness cosigned after the period, which no one could choose.

    Raises: click.ClickException: there is no such note.
    """
    async with database.connect() as connection:
        note: bytes | None = (await connection.execute(_NOTE_AFTER, {"end": period.end})).scalar()
    if note is None:
        raise click.ClickException(
            f"no note of a decision log was cosigned after {period.last}; name something public with --seed instead"
        )
    checkpoint = Checkpoint.parse(Note.parse(bytes(note)).text)
    return f"{checkpoint.origin} {checkpoint.size} {encode_base64(checkpoint.root)}"


async def wait_for_projection(bus: Bus, database: Database) -> None:
    """Wait until the tables hold what the log holds now. Raises: click.ClickException: they lag for too long."""
    wanted = await read_last_sequence(bus, ERRATA.name)
    deadline = asyncio.get_running_loop().time() + TIMEOUT_S
    while (await read_positions(database)).get(ERRATA.name, 0) < wanted:
        if asyncio.get_running_loop().time() > deadline:
            raise click.ClickException(
                "the tables lag behind the log: start `openerrata up projector`, then repeat this"
            )
        await asyncio.sleep(POLL_S)


async def _read_sample(bus: Bus, subject: str) -> ReviewSampled | None:
    for fact in await read_latest_from_leader(bus, subject):
        if isinstance(fact.event, ReviewSampled):
            return fact.event
    return None


async def _publish(bus: Bus, clock: Clock, subject: str, event: ReviewSampled) -> ReviewSampled:
    """Store the sample; returns the stored one, which is another process's if that was first."""
    if await bus.publish_if_first(event, clock.new_id()):
        return event
    return await _read_sample(bus, subject) or event
