"""Labels on posts that hold now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import text as sql

from services.gateway.record.connection import Queries

_LABELS: Final = sql("""
    SELECT uri, cid, val, neg, cts, exp, sequence FROM label
    WHERE sequence > :after AND NOT neg AND exp > :now
        AND (uri = ANY (CAST(:exact AS text[])) OR uri LIKE ANY (CAST(:prefixes AS text[])))
    ORDER BY sequence LIMIT :limit
""")


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuedLabel:
    """A label, of this `sequence` in the log."""

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
        """Labels on these addresses, oldest event first; a pattern that ends with `*` is a beginning."""
        return await self._all(
            IssuedLabel,
            _LABELS,
            exact=[each for each in patterns if not each.endswith("*")],
            prefixes=[_escape(each[:-1]) + "%" for each in patterns if each.endswith("*")],
            now=now,
            after=after,
            limit=limit,
        )


def _escape(words: str) -> str:
    return words.replace("\\", "\\\\").replace("%", r"\%").replace("_", r"\_")
