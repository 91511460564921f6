"""The layouts of buckets as they are stored: which is used, which is being built, and which answer for a while."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from contracts.lookup.buckets import adjust_bits
from kit.database import Session

ANSWERS_FOR: Final = timedelta(hours=48)
"""How long a layout that is no longer used is kept: readers know it for that long at most."""


@dataclass(frozen=True, slots=True)
class StoredLayout:
    """A layout. Shapes: the first `built` buckets exist; `retired_at` is since when it is no longer used."""

    bits: int
    since: datetime
    built: int
    is_current: bool
    retired_at: datetime | None

    @property
    def is_complete(self) -> bool:
        """Whether all buckets of the layout exist."""
        return self.built == 1 << self.bits

    def is_unused(self, wanted: int, now: datetime) -> bool:
        """Whether its buckets can be removed: it is unwanted and was never used, or was retired long enough ago."""
        if self.is_current or self.built == 0:
            return False
        return self.bits != wanted if self.retired_at is None else self.retired_at + ANSWERS_FOR <= now


def find_current(layouts: Iterable[StoredLayout]) -> StoredLayout | None:
    """The layout that readers use, or None if none is complete yet."""
    return next((each for each in layouts if each.is_current), None)


def choose_bits(layouts: Iterable[StoredLayout], posts: int) -> int:
    """The bits of the layout that fits this number of posts with findings."""
    current = find_current(layouts)
    return adjust_bits(0 if current is None else current.bits, posts)


async def read_layouts(db: Session) -> list[StoredLayout]:
    """All layouts that were ever wanted."""
    found = await db.execute("SELECT bits, since, built, is_current, retired_at FROM log.lookup_layout ORDER BY bits")
    return [StoredLayout(*row) for row in await found.fetchall()]


async def count_posts(db: Session) -> int:
    """How many posts with findings are in buckets."""
    row = await (await db.execute("SELECT count(*) FROM log.lookup_post WHERE has_findings")).fetchone()
    return 0 if row is None else int(row[0])


async def want_layout(db: Session, bits: int, now: datetime) -> None:
    """Begin a layout, unless it was begun."""
    await db.execute(
        "INSERT INTO log.lookup_layout VALUES (%s, %s, 0, false, NULL) ON CONFLICT DO NOTHING", (bits, now)
    )


async def mark_built(db: Session, bits: int, built: int) -> None:
    """Store how many buckets of a layout exist."""
    await db.execute("UPDATE log.lookup_layout SET built = %s WHERE bits = %s", (built, bits))


async def use_layout(db: Session, bits: int, now: datetime) -> None:
    """Use this layout from now on; the one before answers for a while."""
    async with db.transaction():
        await db.execute(
            "UPDATE log.lookup_layout SET is_current = false, retired_at = %s WHERE is_current AND bits <> %s",
            (now, bits),
        )
        await db.execute(
            "UPDATE log.lookup_layout SET is_current = true, retired_at = NULL WHERE bits = %s AND built = 1 << bits",
            (bits,),
        )


async def clear_layout(db: Session, bits: int) -> None:
    """Store that no bucket of a layout exists."""
    await db.execute("UPDATE log.lookup_layout SET built = 0, retired_at = NULL WHERE bits = %s", (bits,))
