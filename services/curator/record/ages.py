"""How long the decision log has been behind, and how long its notes have had no quorum of witnesses."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from sqlalchemy import text

from contracts.topology import ERRATA
from kit.clock import Clock
from kit.database import Database

_BEHIND: Final = text("""
    SELECT p.sequence > s.sequence OR s.size > coalesce(
        (SELECT size FROM log.checkpoint WHERE published_at IS NOT NULL ORDER BY size DESC LIMIT 1), 0)
    FROM log.state s JOIN position p ON p.stream = :stream
""")
_ALONE: Final = text("""
    SELECT min(signed_at) FROM log.checkpoint c
    WHERE size > coalesce((SELECT max(size) FROM log.checkpoint WHERE witnessed_at IS NOT NULL), 0)
        AND EXISTS (SELECT FROM log.state WHERE policy NOT LIKE '%quorum none%')
""")


class SqlAges:
    """The tables of the log; without a log nothing is late. Raises: Outage: they could not be read now.

    Facts have no age in these tables, so how long the notary is behind is counted since this process first saw it.
    """

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._behind_since: float | None = None

    async def note_age(self) -> timedelta:
        """How long decisions have been in the log that no published note covers."""
        async with self._database.connect() as connection:
            is_behind = bool((await connection.execute(_BEHIND, {"stream": ERRATA.name})).scalar())
        now = self._clock.monotonic()
        if not is_behind:
            self._behind_since = None
        elif self._behind_since is None:
            self._behind_since = now
        return timedelta(0) if self._behind_since is None else timedelta(seconds=now - self._behind_since)

    async def quorum_age(self) -> timedelta:
        """How long signed notes have been without a quorum of cosignatures; zero if the policy asks for none."""
        async with self._database.connect() as connection:
            since = (await connection.execute(_ALONE)).scalar()
        return timedelta(0) if since is None else max(timedelta(0), self._clock.now() - since)
