"""Authors confirmed by their site, and their investigations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from sqlalchemy import text as sql

from services.gateway.record.connection import Queries
from services.gateway.record.question import Hit, Place, like_pattern

_AUTHOR: Final = sql("""
    SELECT id, platform, platform_user_id, display_name FROM author
    WHERE id = ANY (CAST(:ids AS uuid[])) AND confirmed AND hidden_at IS NULL
""")
_AUTHOR_METRICS: Final = sql("""
    SELECT author_id, count(DISTINCT post_id) AS investigated_posts,
        count(DISTINCT post_id) FILTER (WHERE claim_count > 0) AS flagged_posts, sum(claim_count) AS claim_count
    FROM search_document WHERE author_id = ANY (CAST(:ids AS uuid[])) GROUP BY author_id
""")
_OF_AUTHOR: Final = """
    SELECT investigation_id, checked_at FROM search_document WHERE author_id = :id {beyond}
    ORDER BY checked_at DESC, investigation_id DESC LIMIT :limit
"""
_FLAGGED_OF_AUTHOR: Final = sql("""
    SELECT investigation_id, checked_at FROM search_document WHERE author_id = :id AND claim_count > 0
    ORDER BY checked_at DESC, investigation_id DESC LIMIT :limit
""")


@dataclass(frozen=True, slots=True, kw_only=True)
class Author:
    """One identity on one platform, as the site names it."""

    id: UUID
    platform: str
    platform_user_id: str
    display_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorMetrics:
    """Counts over an author's posts."""

    investigated_posts: int = 0
    flagged_posts: int = 0
    claim_count: int = 0

    @property
    def fact_check_incidence(self) -> float:
        """The share of posts in which something was found; 0 if there are none."""
        return self.flagged_posts / self.investigated_posts if self.investigated_posts else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _MetricsOf(AuthorMetrics):
    author_id: UUID


class Authors(Queries):
    """Queries of authors that their site has confirmed."""

    async def by_id(self, authors: Sequence[UUID]) -> dict[UUID, Author]:
        """Authors by their ids."""
        return {row.id: row for row in await self._all(Author, _AUTHOR, ids=list(authors))}

    async def metrics(self, authors: Sequence[UUID]) -> dict[UUID, AuthorMetrics]:
        """Counts by author; none for authors without an investigation."""
        return {row.author_id: row for row in await self._all(_MetricsOf, _AUTHOR_METRICS, ids=list(authors))}

    async def named(
        self, words: str | None, platform: str | None, after: tuple[str, UUID] | None, limit: int
    ) -> list[Author]:
        """Authors in the order of their names; `words` is a substring of the name."""
        conditions = ["confirmed", "hidden_at IS NULL"]
        values: dict[str, object] = {"limit": limit}
        if words is not None:
            conditions.append("display_name ILIKE :pattern")
            values["pattern"] = like_pattern(words)
        if platform is not None:
            conditions.append("platform = :platform")
            values["platform"] = platform
        if after is not None:
            conditions.append("(display_name, id) > (:name, :id)")
            values |= {"name": after[0], "id": after[1]}
        query = f"""SELECT id, platform, platform_user_id, display_name FROM author WHERE {" AND ".join(conditions)}
            ORDER BY display_name, id LIMIT :limit"""  # noqa: S608 (our words)
        return await self._all(Author, sql(query), **values)

    async def investigations(self, author_id: UUID, after: Place | None, limit: int) -> list[Hit]:
        """An author's investigations, newest first."""
        beyond = "AND (checked_at, investigation_id) < (:at, :last)" if after else ""
        place = {"at": after.checked_at, "last": after.investigation_id} if after else {}
        return await self._all(Hit, sql(_OF_AUTHOR.format(beyond=beyond)), id=author_id, limit=limit, **place)

    async def flagged(self, author_id: UUID, limit: int) -> list[UUID]:
        """An author's newest investigations that found something."""
        found = await self._all(Hit, _FLAGGED_OF_AUTHOR, id=author_id, limit=limit)
        return [hit.investigation_id for hit in found]
