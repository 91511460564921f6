"""Messages that the projector leaves out on an operator's order, as a last resort; recorded beside the ledger."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime

from sqlalchemy.dialects.postgresql import insert

from contracts.readmodel.ledger import skipped
from kit.database import Database


@dataclass(frozen=True, slots=True)
class Skip:
    """One message, and why it is left out."""

    stream: str
    sequence: int
    reason: str


async def record_skip(database: Database, skip: Skip, now: datetime) -> bool:
    """Record a skip; whether it is new. The first reason stands. The projector reads skips when it starts."""
    new = insert(skipped).values(**asdict(skip), skipped_at=now).on_conflict_do_nothing().returning(skipped.c.sequence)
    async with database.transaction() as connection:
        return (await connection.execute(new)).one_or_none() is not None
