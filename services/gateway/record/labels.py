"""Labels on posts that are in force."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import Final

from sqlalchemy import text as sql

from services.gateway.record.connection import Queries

FEW: Final = 500
"""Fewer matches than this are sorted; more are found by reading the labels from the first one issued on."""
_LAST: Final = "\U0010ffff"
_LABEL: Final = "uri, cid, val, neg, cts, exp, sequence"
_HOLDS: Final = "sequence > :after AND NOT neg AND exp > :now"
# The planner cannot estimate how many addresses start with a prefix: it would walk through all labels, oldest first, to
# find a few. So each range is read from the index, as far as it is needed.
_IN_ORDER: Final = "SET LOCAL enable_bitmapscan = off"
_MATCHES: Final = sql(f"""
    SELECT l.* FROM unnest(CAST(:first AS text[]), CAST(:last AS text[])) wanted(first, last)
    CROSS JOIN LATERAL (
        SELECT {_LABEL} FROM label WHERE uri ~>=~ wanted.first AND uri ~<=~ wanted.last AND {_HOLDS} OFFSET 0
    ) l LIMIT :few
""")  # noqa: S608 (our words)
_OLDEST: Final = sql(f"""
    SELECT {_LABEL} FROM label
    WHERE {_HOLDS} AND (uri = ANY (CAST(:exact AS text[])) OR uri LIKE ANY (CAST(:prefixes AS text[])))
    ORDER BY sequence LIMIT :limit
""")  # noqa: S608 (our words)


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuedLabel:
    """A label, with its sequence in the log."""

    uri: str
    cid: str
    val: str
    neg: bool
    cts: datetime
    exp: datetime
    sequence: int


class Labels(Queries):
    """Queries of labels."""

    async def holding(self, patterns: Sequence[str], now: datetime, *, after: int, limit: int) -> Sequence[IssuedLabel]:
        """Labels in force on these addresses, oldest event first; a pattern that ends with `*` is a prefix."""
        exact, prefixes = _separate(patterns)
        holding = {"after": after, "now": now}
        await self._connection.exec_driver_sql(_IN_ORDER)
        first, last = [*exact, *prefixes], [*exact, *(each + _LAST for each in prefixes)]
        matches = await self._all(IssuedLabel, _MATCHES, first=first, last=last, few=FEW, **holding)
        if len(matches) < FEW:
            return sorted(matches, key=attrgetter("sequence"))[:limit]
        likes = [_escape(each) + "%" for each in prefixes]
        return await self._all(IssuedLabel, _OLDEST, exact=exact, prefixes=likes, limit=limit, **holding)


def _separate(patterns: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """Split patterns into addresses and prefixes, none of which starts with another prefix: no label is found twice."""
    prefixes: list[str] = []
    for prefix in sorted(each[:-1] for each in patterns if each.endswith("*")):
        if not prefixes or not prefix.startswith(prefixes[-1]):
            prefixes.append(prefix)
    exact = {each for each in patterns if not each.endswith("*")}
    return [each for each in exact if not each.startswith(tuple(prefixes))], prefixes


def _escape(words: str) -> str:
    return words.replace("\\", "\\\\").replace("%", r"\%").replace("_", r"\_")
