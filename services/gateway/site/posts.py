"""A post with all its versions, and what changed from each to the next.

Where the site or enough readers vouch for some versions, those alone are compared and give the page its name; what only
a reader has reported is named apart.

Versions never change, so a comparison is made once and remembered. It may take long, so it is made beside the loop and
after the connection has gone back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from kit.clock import Clock
from kit.flight import SingleFlight
from services.gateway.memory import Memory
from services.gateway.site import links, naming, provenance
from services.gateway.site.changes import Changes, changes
from services.gateway.site.leaves import weight
from services.gateway.site.reads import VERSIONS, Row, Shelf

COMPARED: Final = 6
"""So many steps from version to version are shown; each may need two long texts."""
CHANGES: Final = 56_000
"""What all changes together weigh on the page. Units: bytes of HTML."""


@dataclass
class Posts:
    """The pages of posts."""

    shelf: Shelf
    clock: Clock
    compare: Callable[[str, str], Changes] = changes
    _compared: Memory[tuple[str, str], Changes] = field(init=False)
    _flights: SingleFlight[tuple[str, str], Changes] = field(init=False, default_factory=SingleFlight)

    def __post_init__(self) -> None:
        self._compared = Memory(self.clock, capacity=500)

    def forget(self) -> None:
        """Remember no comparison."""
        self._compared.clear()

    async def post(self, platform: str, external_id: str) -> dict[str, Any] | None:
        """A post with its versions."""
        if not external_id or not external_id.isprintable():
            return None
        async with self.shelf.open() as looking:
            post = await looking.post(platform.upper(), external_id)
            if post is None:
                return None
            versions = await looking.versions(post["id"])
            for row in versions:
                row["platform"], row["demo"] = post["platform"], naming.is_demo(row["provider"])
                row["vouched_by"] = provenance.told(row)
            newest_first = sorted(versions, key=lambda row: (row["first_seen_at"], str(row["id"])), reverse=True)
            listed = [row for row in newest_first if provenance.is_listed(row)]
            ordered = listed or newest_first
            pairs = list(zip(ordered[1:], ordered, strict=False))[:COMPARED]
            texts = await looking.texts(self._unknown(pairs))
        compared = [
            {"old": old, "new": new, "changes": await self._compare(_key(old, new), texts)} for old, new in pairs
        ]
        _fit(compared)
        title = next((row["title"] for row in ordered if row["title"]), None)
        named = naming.post_name({**post, "title": title})
        return {
            "section": "/corrections",
            "post": post,
            "title": naming.excerpt(title or naming.capitalised(named), 160),
            "link": links.web(post["url"]),
            "listed": bool(listed),
            "versions": ordered,
            "others": [row for row in newest_first if listed and not provenance.is_listed(row)],
            "cut": len(versions) == VERSIONS,
            "compared": compared,
        }

    def _unknown(self, pairs: Sequence[tuple[Row, Row]]) -> list[str]:
        keys = [_key(old, new) for old, new in pairs]
        return sorted({text for key in keys if self._compared.get(key) is None for text in key})

    async def _compare(self, key: tuple[str, str], texts: Mapping[str, str]) -> Changes:
        known, cleared = self._compared.get(key), self._compared.cleared
        return known or await self._flights.run(
            key, lambda: self._compare_anew(key, texts[key[0]], texts[key[1]], cleared)
        )

    async def _compare_anew(self, key: tuple[str, str], old: str, new: str, cleared: int) -> Changes:
        found = await asyncio.to_thread(self.compare, old, new)
        self._compared.put(key, found, cleared=cleared)
        return found


def _fit(compared: Sequence[Row]) -> None:
    """Leave out what the page cannot hold, beginning with the oldest."""
    left = CHANGES
    for each in compared:
        found: Changes = each["changes"]
        shown = []
        for change in found.shown:
            left -= 60 + sum(weight(edit.text) + 12 for edit in change)
            if left < 0:
                break
            shown.append(change)
        each["changes"] = replace(found, shown=tuple(shown), more=found.more + len(found.shown) - len(shown))


def _key(old: Row, new: Row) -> tuple[str, str]:
    return old["content_hash"], new["content_hash"]
