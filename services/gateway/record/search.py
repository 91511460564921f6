"""Search: the newest documents first, without the text index; the index for what is rare among them.

The planner cannot estimate how often words occur, and a wrong plan reads every text. So how often they occur in the
newest documents decides, and each statement allows one kind of plan. Every step is complete for what it searches, so a
page equals that of a full search.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import TextClause
from sqlalchemy import text as sql
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.record.connection import TIMEOUT_MS, TOO_LONG
from services.gateway.record.question import (
    BadQuestion,
    Filters,
    Hit,
    Place,
    drop_dashes,
    has_sign,
    has_trigram,
    is_common,
    like_pattern,
)

MAX_RANKED: Final = 200
"""How many results are ranked; further ones are available by date only."""
INDEXED_CHARACTERS: Final = 200
"""How many characters of the query are looked up in the index; a longer query is checked against the results."""
SAMPLE: Final = 256
"""How many of the newest documents are sampled to estimate how common words are."""
NEAR: Final = 4_096
"""How many of the newest documents are read for common words, and for words with FREQUENT hits in the sample."""
FREQUENT: Final = 2
CHUNK: Final = 1_000
"""Larger offsets are skipped in chunks."""

_IN_ORDER: Final = (
    "SET LOCAL enable_indexscan = on; SET LOCAL enable_indexonlyscan = on; SET LOCAL enable_bitmapscan = off"
)
_BY_INDEX: Final = (
    "SET LOCAL enable_indexscan = off; SET LOCAL enable_indexonlyscan = off; SET LOCAL enable_bitmapscan = on"
)
_SHOWN: Final = "(SELECT w.hidden_at FROM post p JOIN author w ON w.id = p.author_id WHERE p.id = post_id) IS NULL"
"""Whether a document's author is shown in public: two look-ups by key, for rows that meet all other conditions."""
_NOT_HIDDEN: Final = """post_id NOT IN (
    SELECT p.id FROM author w JOIN post p ON p.author_id = w.id WHERE w.hidden_at IS NOT NULL)"""
"""The same, for large offsets: the posts of all hidden authors are read once."""
_NEWEST_FIRST: Final = "ORDER BY checked_at DESC, investigation_id DESC"
_PAGE: Final = f"{_NEWEST_FIRST} LIMIT :limit"


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on documents in SQL: `whole`, and the same by the text index, None if the index cannot help.

    `common`: it is likely to hold for many documents, for which the index is slow.
    """

    whole: str
    index: str | None
    values: Mapping[str, object]
    common: bool = False


@dataclass(frozen=True, slots=True)
class _Scope:
    """The documents after a cursor that match the filters. Shapes: the index by time has all columns of `where`."""

    where: str
    values: Mapping[str, object]

    def within(self, newest: int | None, condition: Condition) -> TextClause:
        """Select documents that meet a condition among the `newest`, or among all if that is None; newest first."""
        window = f"WHERE {self.where} {_NEWEST_FIRST}" + ("" if newest is None else f" LIMIT {newest}")
        documents = f"(SELECT * FROM search_document {window}) newest"  # noqa: S608 (our words)
        if "claim_count" in self.where or "platform" in self.where:  # few may match, so only those are read
            documents = f"""(SELECT investigation_id, checked_at, post_id FROM search_document {window}) newest
                CROSS JOIN LATERAL (SELECT body, words FROM search_document d
                    WHERE d.investigation_id = newest.investigation_id OFFSET 0) document"""  # noqa: S608 (our words)
        return _select(documents, f"{condition.whole} AND {_SHOWN}")

    def by(self, index: str) -> TextClause:
        """Select all documents that meet a condition of the text index."""
        return _select("search_document", f"{self.where} AND {index} AND {_SHOWN}")


class Search:
    """Search over one connection, inside `open_transaction`. All steps share the time limit of one statement."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection
        self._now = asyncio.get_running_loop().time
        self._end = self._now() + TIMEOUT_MS / 1000

    async def newest(self, text: str | None, filters: Filters, after: Place | None, limit: int) -> list[Hit]:
        """The newest results after a place."""
        scope = _scope(filters, after)
        return await (self._list(scope, 0, limit) if text is None else self._find(scope, _containing(text), limit))

    async def with_offset(self, text: str | None, filters: Filters, offset: int, limit: int) -> list[Hit]:
        """The newest results without the first `offset`. Raises: BadQuestion: counting takes too long."""
        if text is None:
            return await self._list(_scope(filters, None), offset, limit)
        place = None
        while offset > CHUNK:
            skipped = await self.newest(text, filters, place, CHUNK)
            if len(skipped) < CHUNK:
                return []
            place, offset = skipped[-1].place, offset - CHUNK
        return (await self.newest(text, filters, place, offset + limit))[offset:]

    async def ranked(self, text: str, filters: Filters) -> list[Hit]:
        """The best results, at most MAX_RANKED: matches in title, author, URL or findings, then others.

        Only the newest matches are ranked, so that the cost does not depend on how common a word is.
        """
        matching = "words @@ websearch_to_tsquery('english', :text)"
        words = drop_dashes(text)
        condition = Condition(matching, matching, {"text": words})
        best = await self._order(await self._find(_scope(filters, None), condition, MAX_RANKED), words)
        if len(best) == MAX_RANKED:
            return best
        others = await self.newest(text, filters, None, MAX_RANKED)
        known = {hit.investigation_id for hit in best}
        return [*best, *(hit for hit in others if hit.investigation_id not in known)][:MAX_RANKED]

    async def _order(self, hits: Sequence[Hit], text: str) -> list[Hit]:
        if not hits:
            return []
        await self._connection.exec_driver_sql(_IN_ORDER)
        query = sql("""
            SELECT investigation_id, checked_at FROM search_document
            WHERE investigation_id = ANY (CAST(:ids AS uuid[]))
            ORDER BY ts_rank_cd(words, websearch_to_tsquery('english', :text), 1) DESC, checked_at DESC,
                investigation_id DESC
        """)
        return await self._hits(query, {"ids": [hit.investigation_id for hit in hits], "text": text})

    async def _list(self, scope: _Scope, offset: int, limit: int) -> list[Hit]:
        """List documents from the index by time, which has every filter's columns."""
        await self._connection.exec_driver_sql(_IN_ORDER)
        shown = _SHOWN if offset <= CHUNK else _NOT_HIDDEN
        query = _select("search_document", f"{scope.where} AND {shown}", "OFFSET :offset")
        return await self._hits(query, {**scope.values, "offset": offset, "limit": limit})

    async def _find(self, scope: _Scope, condition: Condition, limit: int) -> list[Hit]:
        values = {**scope.values, **condition.values, "limit": limit}
        await self._connection.exec_driver_sql(_IN_ORDER)
        hits = await self._hits(scope.within(max(SAMPLE, 2 * limit), condition), values)
        if len(hits) == limit:
            return hits
        if condition.index is None:
            return await self._hits(scope.within(None, condition), values)
        if condition.common or len(hits) >= FREQUENT:
            hits = await self._hits(scope.within(max(NEAR, 4 * limit), condition), values)
            if len(hits) == limit:
                return hits
        await self._connection.exec_driver_sql(_BY_INDEX)
        return await self._hits(scope.by(condition.index), values)

    async def _hits(self, query: TextClause, values: Mapping[str, object]) -> list[Hit]:
        if self._now() > self._end:
            raise BadQuestion(TOO_LONG)
        found = await self._connection.execute(query, values)
        return [Hit(row.investigation_id, row.checked_at) for row in found]


def _select(documents: str, where: str, rest: str = "") -> TextClause:
    return sql(f"SELECT investigation_id, checked_at FROM {documents} WHERE {where} {_PAGE} {rest}")  # noqa: S608 (our words)


def _scope(filters: Filters, after: Place | None) -> _Scope:
    conditions: list[str] = []
    values: dict[str, object] = {}
    if filters.platform is not None:
        conditions.append("platform = :platform")
        values["platform"] = filters.platform
    if filters.min_claims > 0:
        conditions.append("claim_count >= :min_claims")
        values["min_claims"] = filters.min_claims
    if after is not None:
        conditions.append("(checked_at, investigation_id) < (:at, :id)")
        values |= {"at": after.checked_at, "id": after.investigation_id}
    return _Scope(" AND ".join(conditions) or "true", values)


def _containing(text: str) -> Condition:
    beginning = text[:INDEXED_CHARACTERS]
    whole = "strpos(body, (SELECT lower(:text))) > 0"  # lowered once, not for each row: it may be half a megabyte
    values = {"text": text, "pattern": like_pattern(beginning), "beginning": beginning}
    if has_trigram(beginning):
        return Condition(whole, f"body LIKE lower(:pattern) AND {whole}", values, is_common(beginning))
    if has_sign(beginning):
        return Condition(whole, f"search_signs(body) @> search_signs(lower(:beginning)) AND {whole}", values)
    return Condition(whole, None, values)
