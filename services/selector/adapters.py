"""The selector's reads, its way to the log, and its leadership by a lease in the broker."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import func, select

from contracts.readmodel import candidate, investigation, post_version
from contracts.topology import LEADERS
from contracts.v1 import InvestigationRequested
from kit.bus import AlreadyThere, Bus
from kit.database import Database
from kit.kv import Bucket
from services.selector.domain import Candidate

LEASE = "selector"


class SqlReads:
    """Candidates and what was spent, both by index."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def taken_since(self, since: datetime, analysis: str) -> int:
        """Investigations that a selector has requested since then."""
        query = select(func.count()).where(
            investigation.c.requested_by == "SELECTOR",
            investigation.c.queued_at >= since,
            investigation.c.analysis == analysis,
        )
        async with self._database.connect() as connection:
            return (await connection.execute(query)).scalar_one()

    async def candidates(self, analysis: str, limit: int) -> Sequence[Candidate]:
        """The next posts, most wanted first; those under way or over are not among them."""
        query = (
            select(
                candidate.c.post_id,
                candidate.c.post_version_id.label("version_id"),
                candidate.c.score,
                post_version.c.correlation,
            )
            .join(post_version, post_version.c.id == candidate.c.post_version_id)
            .where(
                candidate.c.analysis == analysis,
                candidate.c.word_ok,
                candidate.c.eligible_at.is_not(None),
                candidate.c.status.is_(None),
                candidate.c.score > 0,
            )
            .order_by(candidate.c.score.desc(), candidate.c.post_id)
            .limit(limit)
        )
        async with self._database.connect() as connection:
            return [Candidate(**row) for row in (await connection.execute(query)).mappings()]


class BusRequests:
    """Requests, published as facts."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def publish(self, request: InvestigationRequested, correlation: UUID) -> bool:
        """Ask for an investigation; False if somebody else did before."""
        try:
            await self._bus.publish(request, correlation=correlation)
        except AlreadyThere:
            return False
        return True


class KvLeadership:
    """The leader's name lies in a bucket whose entries expire, so a dead leader is followed within its time to live."""

    def __init__(self, bus: Bus, name: str) -> None:
        self._bus = bus
        self._name = name.encode()

    async def hold(self) -> bool:
        """Become or stay the leader; False while another one is."""
        bucket = await Bucket.open(self._bus, LEADERS)
        if await bucket.create(LEASE, self._name):
            return True
        if await bucket.get(LEASE) != self._name:
            return False
        await bucket.put(LEASE, self._name)
        return True
