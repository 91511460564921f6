"""Queries of the read model: the result of an earlier version, and other posts by the author.

The database may be unavailable for minutes. A run waits for it, since without the prior result it would drop published
findings; a research call of the model does not wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Final
from uuid import UUID

import psycopg
import structlog
from sqlalchemy import text
from sqlalchemy.exc import InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from contracts.v1.parts import ClaimPayload, PublishedClaim
from kit.database import Database, Session
from kit.errors import Outage
from services.investigator.domain import AuthorPost, Prior

TIMEOUT_S: Final = 60.0
RETRY_DELAY_S: Final = 1.0
BEGINNING_CHARACTERS: Final = 400
UNAVAILABLE: Final = (OperationalError, InterfaceError, PoolTimeout)

_PRIOR: Final = """
    SELECT p.investigation_id, d.claims, b.content_text
    FROM post_prior p
    JOIN investigation_doc d ON d.investigation_id = p.investigation_id
    JOIN post_version v ON v.id = p.post_version_id
    JOIN content_blob b ON b.content_hash = v.content_hash
    WHERE p.post_id = %b AND p.analysis = %b AND p.post_version_id <> %b
"""

_BY_AUTHOR: Final = text("""
    WITH other AS MATERIALIZED (
        SELECT p.id, p.url, p.created_at, a.display_name
        FROM post me
        JOIN author a ON a.id = me.author_id
        JOIN post p ON p.author_id = me.author_id AND p.id <> me.id AND p.confirmed
        WHERE me.id = :post AND me.confirmed
        ORDER BY p.created_at DESC, p.id
        LIMIT :most
    )
    SELECT o.display_name AS author, o.url, o.created_at AS first_seen_at, v.server_verified_at IS NOT NULL AS verified,
           left(b.content_text, :characters) AS beginning, d.claims
    FROM other o
    JOIN LATERAL (
        SELECT id, content_hash, server_verified_at FROM post_version
        WHERE post_id = o.id ORDER BY last_seen_at DESC, id DESC LIMIT 1
    ) v ON true
    JOIN content_blob b ON b.content_hash = v.content_hash
    LEFT JOIN LATERAL (
        SELECT claims FROM investigation_doc WHERE post_version_id = v.id AND analysis = :analysis
        ORDER BY checked_at DESC, investigation_id DESC LIMIT 1
    ) d ON true
    ORDER BY o.created_at DESC, o.id
""")

log = structlog.get_logger(__name__)


class Unavailable(Exception):
    """The database does not answer now."""


class SqlReads:
    """The read model, in a role that cannot write."""

    def __init__(self, database: Database, *, patience_s: float = TIMEOUT_S) -> None:
        self._database = database
        self._patience_s = patience_s
        self._session: Session | None = None
        self._opening = asyncio.Lock()

    async def prior(self, post_id: UUID, version_id: UUID, analysis: str) -> Prior | None:
        """The newest complete result on another version, if its text was verified. Raises: Outage.

        Every run asks this and nearly none has a prior, so it has a connection of its own: the pool would add a tenth
        to the run's own cost.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._patience_s
        while True:
            try:
                found = await (await self._connection()).execute(_PRIOR, (post_id, analysis, version_id))
                row = await found.fetchone()
            except psycopg.OperationalError as error:
                if loop.time() >= deadline:
                    raise Outage(self._patience_s, f"database: {type(error).__name__}") from error
                log.warning("read model does not answer, retrying", error=type(error).__name__)
                await asyncio.sleep(RETRY_DELAY_S)
            else:
                return None if row is None else Prior(row[0], row[2], _parse_claims(row[1]))

    async def close(self) -> None:
        """Close the connection."""
        if self._session is not None:
            await self._session.close()

    async def by_same_author(self, post_id: UUID, analysis: str, most: int) -> Sequence[AuthorPost]:
        """Other posts for which the site names the same author, newest first. Raises: Unavailable."""
        values = {"post": post_id, "analysis": analysis, "most": most, "characters": BEGINNING_CHARACTERS}
        try:
            async with self._database.connect() as connection:
                found = (await connection.execute(_BY_AUTHOR, values)).mappings().all()
        except UNAVAILABLE as error:
            raise Unavailable(f"database: {type(error).__name__}") from error
        return [
            AuthorPost(
                author=row["author"],
                url=row["url"],
                first_seen_at=row["first_seen_at"],
                verified=row["verified"],
                beginning=row["beginning"],
                claims=None if row["claims"] is None else _parse_claims(row["claims"]),
            )
            for row in found
        ]

    async def _connection(self) -> Session:
        """The connection, opened again if it was lost. Raises: psycopg.OperationalError."""
        async with self._opening:
            if self._session is None or self._session.closed:
                self._session = await self._database.session()
            return self._session


def _parse_claims(claims: Iterable[Mapping[str, str]]) -> tuple[PublishedClaim, ...]:
    return tuple(
        PublishedClaim(claim_id=UUID(claim["id"]), payload=ClaimPayload.model_validate(claim)) for claim in claims
    )
