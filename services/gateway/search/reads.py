"""How a search reads as little as it can: the newest documents as they stand, then the index, ever further back.

The planner cannot know how often words occur, and a wrong guess reads every text. So it is left no choice: each step
may use one kind of plan. A step asks the index for one piece of time, pieces grow eightfold, and the first step that
fills the page is the last. Whatever a step finds is complete for its piece, so the answer is the one that reading
everything would give.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from sqlalchemy import TextClause
from sqlalchemy import text as sql
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection

from kit.database import Database
from services.gateway.ports import Unavailable
from services.gateway.search.question import FACETED_CLAIMS, BadQuestion, Filters, Hit, Place, has_trigram, like

TIMEOUT_MS: Final = 5_000
TOO_LONG: Final = "This takes too long to look for; please use longer or rarer words."
RANKED: Final = 200
"""So many results are put into an order of their own; who wants more of them wants them by date."""

_READING: Final = (
    f"SET LOCAL statement_timeout = {TIMEOUT_MS}; SET LOCAL work_mem = '32MB'; SET LOCAL jit = off; "
    "SET LOCAL enable_seqscan = off; SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off"
)
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

LOOKED_UP: Final = 200
"""So many characters of a text are asked of the index; the rest of a longer one is looked for in what that finds."""
PAIRS: Final = 12
"""So many pairs of common words are asked of the index, those first that may be written in the fewest ways."""
CHUNK: Final = 1_000
FAR: Final = 1_000
"""Beyond so many results, those to be skipped are not gathered at once."""

_WORDS: Final = sql("""
    SELECT q.lowered, q.beginning, search_grams(q.beginning) AS grams,
        (SELECT coalesce(jsonb_agg(to_jsonb(forms) ORDER BY cardinality(forms), forms), '[]')
            FROM search_pairs_of(string_to_array(q.beginning, ' ')) forms) AS pairs
    FROM (SELECT lower(:text) AS lowered, left(lower(:text), :looked_up) AS beginning) q
""")


@dataclass(frozen=True, slots=True)
class Condition:
    """What documents must fulfil.

    `shown` is what the index can show of it, `whole` what a document itself must fulfil; `rest` is what is left to
    look at in the documents the index has found.
    """

    shown: tuple[str, ...] = ()
    rest: tuple[str, ...] = ()
    whole: tuple[str, ...] = ()
    values: Mapping[str, Any] = field(default_factory=dict)

    @property
    def reads_texts(self) -> bool:
        """Whether a document's whole text may have to be looked at."""
        return any("body" in part or "words" in part for part in self.whole)

    def __and__(self, other: Condition) -> Condition:
        return Condition(
            self.shown + other.shown, self.rest + other.rest, self.whole + other.whole, {**self.values, **other.values}
        )


@asynccontextmanager
async def reading(database: Database) -> AsyncIterator[AsyncConnection]:
    """A transaction in which nothing is scanned and nothing takes long.

    Raises: Unavailable. BadQuestion: the answer would have taken too long.
    """
    try:
        async with database.transaction() as connection:
            await connection.exec_driver_sql(_READING)
            yield connection
    except (OperationalError, InterfaceError, PoolTimeout) as error:
        if getattr(getattr(error, "orig", None), "sqlstate", None) == "57014":
            raise BadQuestion(TOO_LONG) from error
        raise Unavailable(f"database: {type(error).__name__}") from error
    except DBAPIError as error:
        if error.connection_invalidated:
            raise Unavailable("database: connection lost") from error
        raise


class Search:
    """Search over one connection, inside `reading`. All its steps together have the time of one statement."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection
        self._now = asyncio.get_running_loop().time
        self._end = self._now() + TIMEOUT_MS / 1000

    async def newest(self, text: str | None, filters: Filters, after: Place | None, limit: int) -> list[Hit]:
        """The newest results after a place."""
        condition = _filtered(filters)
        if text is not None:
            condition &= await self._containing(text)
        return await self._find(condition, after, limit)

    async def skipping(self, text: str | None, filters: Filters, offset: int, limit: int) -> list[Hit]:
        """The newest results without the first `offset`."""
        if text is None and (offset > FAR or (offset and not filters.facets)):
            return await self._counted_off(_filtered(filters), offset, limit)
        if offset <= FAR or text is None:
            return (await self.newest(text, filters, None, offset + limit))[offset:]
        condition = _filtered(filters) & await self._containing(text)
        place = await self._place_of(condition, offset)
        return [] if place is None else await self._find(condition, place, limit)

    async def _place_of(self, condition: Condition, nth: int) -> Place | None:
        """Where the nth result stands; None if there are fewer. Raises: BadQuestion: to count them takes too long."""
        place, left = None, nth
        while left:
            wanted = min(left, CHUNK)
            hits = await self._find(condition, place, wanted)
            if len(hits) < wanted:
                return None
            place, left = hits[-1].place, left - wanted
        return place

    async def ranked(self, text: str, filters: Filters) -> list[Hit]:
        """The best results, at most RANKED: those that say it in title, author, address or findings, then others.

        Ranked are the newest that say it, so that the rank of a word in every document is as cheap as any other.
        """
        asked = {"words": text}
        saying = "words @@ websearch_to_tsquery('english', :words)"
        condition = _filtered(filters) & Condition(shown=(saying,), whole=(saying,), values=asked)
        best = await self._order(await self._find(condition, None, RANKED), text)
        if len(best) == RANKED:
            return best
        others = await self.newest(text, filters, None, RANKED)
        known = {hit.investigation_id for hit in best}
        return [*best, *(hit for hit in others if hit.investigation_id not in known)][:RANKED]

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
        asked = (await self._connection.execute(_WORDS, {"text": text, "looked_up": LOOKED_UP})).one()
        whole: tuple[str, ...] = ("body LIKE :pattern",)
        shown: tuple[str, ...] = whole
        rest: tuple[str, ...] = ()
        values = {"pattern": like(asked.lowered)}
        if len(asked.lowered) > LOOKED_UP:
            shown, rest = ("body LIKE :beginning",), whole
            values |= {"beginning": like(asked.beginning)}
        if not has_trigram(asked.beginning):
            # Two characters are shown exactly by the index; of more, it shows that all their pairs are there.
            rest = whole if len(asked.lowered) > 2 else ()
            shown, values["grams"] = ("search_grams(body) @> :grams",), asked.grams
        for n, forms in enumerate(asked.pairs[:PAIRS]):
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

    async def _hits(self, query: Any, values: Mapping[str, Any]) -> list[Hit]:
        if self._now() > self._end:
            raise BadQuestion(TOO_LONG)
        found = await self._connection.execute(query, values)
        return [Hit(row.investigation_id, row.checked_at) for row in found]

    async def _counted_off(self, condition: Condition, offset: int, limit: int) -> list[Hit]:
        """By the narrow index alone, which can judge every filter."""
        await self._connection.exec_driver_sql(_WALKING)
        return await self._hits(
            _select(_HIT, "search_document", condition.whole, ":limit OFFSET :offset"),
            {**condition.values, "offset": offset, "limit": limit},
        )


def _filtered(filters: Filters) -> Condition:
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
    """A piece of time: documents for which the expression `of` gives the number; all of them if it is None."""

    of: str | None
    number: int = 0
    only_if_found: bool = False


def _pieces(first: int) -> Iterator[Piece]:
    """Where to look, beginning with the bucket of the first document: each piece joins what those before it cover.

    What is not in four thousand documents is rare enough to ask for in all of them at once.
    """
    yield Piece("bucket", first)
    for size in (8, 64):
        newest = first // size
        yield Piece(f"(bucket / {size})", newest, only_if_found=size > 8)
        if newest:  # it may have just begun
            yield Piece(f"(bucket / {size})", newest - 1, only_if_found=True)
    yield Piece(None)


def _first(beyond: Sequence[str]) -> TextClause:
    return _select("bucket", "search_document", beyond, "1")


def _walk(condition: Condition, beyond: Sequence[str], limit: int) -> TextClause:
    """The newest documents as they stand; those the narrow index can judge are many for the price of few."""
    if not condition.whole:
        return _select(_HIT, "search_document", beyond)
    window = max(_WINDOW, 2 * limit) if condition.reads_texts else _FILTERED_WINDOW
    columns = f"{_HIT}, platform, claim_count" + (", body, words" if condition.reads_texts else "")
    newest = _select(columns, "search_document", beyond, str(window))
    return _select(_HIT, f"({newest}) newest", condition.whole)


def _within(piece: Piece, condition: Condition, beyond: Sequence[str]) -> TextClause:
    """Everything the index shows in a piece; what it cannot show is looked at afterwards."""
    there = () if piece.of is None else (f"{piece.of} = CAST(:number AS integer)",)
    shown = f"SELECT {_HIT}, claim_count, body FROM search_document {_where((*there, *condition.shown, *beyond))}"  # noqa: S608 (our words)
    return sql(f"WITH shown AS MATERIALIZED ({shown}) {_select(_HIT, 'shown', condition.rest)}")


def _select(columns: str, source: str, conditions: Sequence[str], limit: str = ":limit") -> TextClause:
    return sql(f"SELECT {columns} FROM {source} {_where(conditions)} {_NEWEST_FIRST} LIMIT {limit}")  # noqa: S608 (our words)


def _where(conditions: Sequence[str]) -> str:
    return f"WHERE {' AND '.join(conditions)}" if conditions else ""
