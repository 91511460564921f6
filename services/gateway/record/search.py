"""Search in steps: first the newest documents without the text index, then the index, further and further back.

The planner cannot estimate how often words occur, and a wrong plan reads every text. So each step allows one kind of
plan. A step queries the index for one piece of time, pieces grow eightfold, and the first step that fills the page is
the last. The results of a step are complete for its piece, so the page equals that of a full search.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from sqlalchemy import TextClause
from sqlalchemy import text as sql
from sqlalchemy.ext.asyncio import AsyncConnection

from services.gateway.record.connection import TIMEOUT_MS, TOO_LONG
from services.gateway.record.question import FACETED_CLAIMS, BadQuestion, Filters, Hit, Place, has_trigram, like_pattern

MAX_RANKED: Final = 200
"""How many results are ranked; further ones are available by date only."""

_WALKING: Final = (
    "SET LOCAL enable_indexscan = on; SET LOCAL enable_indexonlyscan = on; SET LOCAL enable_bitmapscan = off"
)
_BY_INDEX: Final = (
    "SET LOCAL enable_indexscan = off; SET LOCAL enable_indexonlyscan = off; SET LOCAL enable_bitmapscan = on"
)
_FREE: Final = "SET LOCAL enable_indexscan = on; SET LOCAL enable_indexonlyscan = on; SET LOCAL enable_bitmapscan = on"

_BEYOND: Final = "(checked_at, investigation_id) < (:at, :id)"
_NEWEST_FIRST: Final = "ORDER BY checked_at DESC, investigation_id DESC"
_HIT: Final = "investigation_id, checked_at"
_WINDOW: Final = 64
_FILTERED_WINDOW: Final = 1024

INDEXED_CHARACTERS: Final = 200
"""How many characters of the query the index is searched for; a longer query is rechecked in the results."""
PAIRS: Final = 12
"""How many pairs of common words the index is searched for, those with the fewest spellings first."""
CHUNK: Final = 1_000
FAR: Final = 1_000
"""Larger offsets are skipped in chunks."""

_WORDS: Final = sql("""
    SELECT q.lowered, q.beginning, search_grams(q.beginning) AS grams,
        (SELECT coalesce(jsonb_agg(to_jsonb(forms) ORDER BY cardinality(forms), forms), '[]')
            FROM search_pairs_of(string_to_array(q.beginning, ' ')) forms) AS pairs
    FROM (SELECT lower(:text) AS lowered, left(lower(:text), :looked_up) AS beginning) q
""")


@dataclass(frozen=True, slots=True)
class Condition:
    """A search condition in SQL.

    `shown` is its part that the index can evaluate, `whole` all of it on a document, `rest` what must be rechecked on
    the documents that the index has found.
    """

    shown: tuple[str, ...] = ()
    rest: tuple[str, ...] = ()
    whole: tuple[str, ...] = ()
    values: Mapping[str, object] = field(default_factory=dict)

    @property
    def reads_texts(self) -> bool:
        """Whether evaluating it may read a document's whole text."""
        return any("body" in part or "words" in part for part in self.whole)

    def __and__(self, other: Condition) -> Condition:
        return Condition(
            self.shown + other.shown, self.rest + other.rest, self.whole + other.whole, {**self.values, **other.values}
        )


class Search:
    """Search over one connection, inside `open_transaction`. All steps share the time of one statement."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection
        self._now = asyncio.get_running_loop().time
        self._end = self._now() + TIMEOUT_MS / 1000

    async def newest(self, text: str | None, filters: Filters, after: Place | None, limit: int) -> list[Hit]:
        """The newest results after a place."""
        condition = _filter_condition(filters)
        if text is not None:
            condition &= await self._containing(text)
        return await self._find(condition, after, limit)

    async def with_offset(self, text: str | None, filters: Filters, offset: int, limit: int) -> list[Hit]:
        """The newest results without the first `offset`."""
        if text is None and (offset > FAR or (offset and not filters.facets)):
            return await self._find_by_offset(_filter_condition(filters), offset, limit)
        if offset <= FAR or text is None:
            return (await self.newest(text, filters, None, offset + limit))[offset:]
        condition = _filter_condition(filters) & await self._containing(text)
        place = await self._find_nth(condition, offset)
        return [] if place is None else await self._find(condition, place, limit)

    async def _find_nth(self, condition: Condition, nth: int) -> Place | None:
        """The place of the nth result; None if there are fewer. Raises: BadQuestion: counting takes too long."""
        place, left = None, nth
        while left:
            batch_size = min(left, CHUNK)
            hits = await self._find(condition, place, batch_size)
            if len(hits) < batch_size:
                return None
            place, left = hits[-1].place, left - batch_size
        return place

    async def ranked(self, text: str, filters: Filters) -> list[Hit]:
        """The best results, at most MAX_RANKED: matches in title, author, URL or findings, then others.

        Only the newest matches are ranked, so that the cost does not depend on how common a word is.
        """
        terms = {"words": text}
        matching = "words @@ websearch_to_tsquery('english', :words)"
        condition = _filter_condition(filters) & Condition(shown=(matching,), whole=(matching,), values=terms)
        best = await self._order(await self._find(condition, None, MAX_RANKED), text)
        if len(best) == MAX_RANKED:
            return best
        others = await self.newest(text, filters, None, MAX_RANKED)
        known = {hit.investigation_id for hit in best}
        return [*best, *(hit for hit in others if hit.investigation_id not in known)][:MAX_RANKED]

    async def _order(self, hits: Sequence[Hit], text: str) -> list[Hit]:
        if not hits:
            return []
        await self._connection.exec_driver_sql(_FREE)
        query = sql("""
            SELECT investigation_id, checked_at FROM search_document
            WHERE investigation_id = ANY (CAST(:ids AS uuid[]))
            ORDER BY ts_rank_cd(words, websearch_to_tsquery('english', :words), 1) DESC, checked_at DESC,
                investigation_id DESC
        """)
        return await self._hits(query, {"ids": [hit.investigation_id for hit in hits], "words": text})

    async def _containing(self, text: str) -> Condition:
        terms = (await self._connection.execute(_WORDS, {"text": text, "looked_up": INDEXED_CHARACTERS})).one()
        whole: tuple[str, ...] = ("body LIKE :pattern",)
        shown: tuple[str, ...] = whole
        rest: tuple[str, ...] = ()
        values = {"pattern": like_pattern(terms.lowered)}
        if len(terms.lowered) > INDEXED_CHARACTERS:
            shown, rest = ("body LIKE :beginning",), whole
            values |= {"beginning": like_pattern(terms.beginning)}
        if not has_trigram(terms.beginning):
            # The index is exact for two characters; for more, it shows that all pairs of them occur.
            rest = whole if len(terms.lowered) > 2 else ()
            shown, values["grams"] = ("search_grams(body) @> :grams",), terms.grams
        for n, forms in enumerate(terms.pairs[:PAIRS]):
            shown = (*shown, f"search_pairs(string_to_array(body, ' ')) && :pair_{n}")
            values[f"pair_{n}"] = forms
        return Condition(shown, rest, whole, values)

    async def _find(self, condition: Condition, after: Place | None, limit: int) -> list[Hit]:
        values = {**condition.values, "limit": limit}
        beyond: tuple[str, ...] = ()
        if after is not None:
            beyond = (_BEYOND,)
            values |= {"at": after.checked_at, "id": after.investigation_id}
        await self._connection.exec_driver_sql(_WALKING)
        first = (await self._connection.execute(_first(beyond), values)).scalar_one_or_none()
        if first is None:
            return []
        hits = await self._hits(_walk(condition, beyond, limit), values)
        if len(hits) == limit or not condition.whole:
            return hits
        await self._connection.exec_driver_sql(_BY_INDEX)
        found: set[Hit] = set()
        for piece in _pieces(first):
            if piece.only_if_found and not found:
                continue
            found.update(await self._hits(_within(piece, condition, beyond), {**values, "number": piece.number}))
            if len(found) >= limit:
                break
        return sorted(found, key=lambda hit: (hit.checked_at, hit.investigation_id), reverse=True)[:limit]

    async def _hits(self, query: TextClause, values: Mapping[str, object]) -> list[Hit]:
        if self._now() > self._end:
            raise BadQuestion(TOO_LONG)
        found = await self._connection.execute(query, values)
        return [Hit(row.investigation_id, row.checked_at) for row in found]

    async def _find_by_offset(self, condition: Condition, offset: int, limit: int) -> list[Hit]:
        """By offset in the covering index alone, which has every filter's columns."""
        await self._connection.exec_driver_sql(_WALKING)
        return await self._hits(
            _select(_HIT, "search_document", condition.whole, ":limit OFFSET :offset"),
            {**condition.values, "offset": offset, "limit": limit},
        )


def _filter_condition(filters: Filters) -> Condition:
    condition = Condition()
    if filters.facets:
        facets = "search_facets(platform, claim_count) @> :facets"
        condition &= Condition(shown=(facets,), values={"facets": filters.facets})
    if filters.platform is not None:
        condition &= Condition(whole=("platform = :platform",), values={"platform": filters.platform})
    if filters.min_claims > 0:
        enough = ("claim_count >= :min_claims",)
        rest = enough if filters.min_claims > FACETED_CLAIMS else ()
        condition &= Condition(rest=rest, whole=enough, values={"min_claims": filters.min_claims})
    return condition


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of time: the documents for which the SQL expression `of` equals `number`; None: all documents."""

    of: str | None
    number: int = 0
    only_if_found: bool = False


def _pieces(first: int) -> Iterator[Piece]:
    """The pieces to search, from the bucket of the first document on; each includes those before it.

    What is not in four thousand documents is rare enough to search all documents at once.
    """
    yield Piece("bucket", first)
    for size in (8, 64):
        newest = first // size
        yield Piece(f"(bucket / {size})", newest, only_if_found=size > 8)
        if newest:  # the newest piece may be nearly empty
            yield Piece(f"(bucket / {size})", newest - 1, only_if_found=True)
    yield Piece(None)


def _first(beyond: Sequence[str]) -> TextClause:
    return _select("bucket", "search_document", beyond, "1")


def _walk(condition: Condition, beyond: Sequence[str], limit: int) -> TextClause:
    """The newest documents without the text index; many of them if the covering index suffices."""
    if not condition.whole:
        return _select(_HIT, "search_document", beyond)
    window = max(_WINDOW, 2 * limit) if condition.reads_texts else _FILTERED_WINDOW
    columns = f"{_HIT}, platform, claim_count" + (", body, words" if condition.reads_texts else "")
    newest = _select(columns, "search_document", beyond, str(window))
    return _select(_HIT, f"({newest}) newest", condition.whole)


def _within(piece: Piece, condition: Condition, beyond: Sequence[str]) -> TextClause:
    """All matches of the index in a piece, rechecked where it is inexact."""
    in_piece = () if piece.of is None else (f"{piece.of} = CAST(:number AS integer)",)
    shown = f"SELECT {_HIT}, claim_count, body FROM search_document {_where((*in_piece, *condition.shown, *beyond))}"  # noqa: S608 (our words)
    return sql(f"WITH shown AS MATERIALIZED ({shown}) {_select(_HIT, 'shown', condition.rest)}")


def _select(columns: str, source: str, conditions: Sequence[str], limit: str = ":limit") -> TextClause:
    return sql(f"SELECT {columns} FROM {source} {_where(conditions)} {_NEWEST_FIRST} LIMIT {limit}")  # noqa: S608 (our words)


def _where(conditions: Sequence[str]) -> str:
    return f"WHERE {' AND '.join(conditions)}" if conditions else ""
