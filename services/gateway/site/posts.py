"""A post with all its versions, and what changed from each to the next.

Versions never change, so a comparison is made once and remembered.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from kit.clock import Clock
from services.gateway.memory import Memory
from services.gateway.site import links, naming
from services.gateway.site.changes import Changes, changes
from services.gateway.site.reads import VERSIONS, Looking, Row, Shelf

COMPARED: Final = 6
"""So many steps from version to version are shown; each may need two long texts."""


@dataclass
class Posts:
    """The pages of posts."""

    shelf: Shelf
    clock: Clock
    _compared: Memory[tuple[str, str], Changes] = field(init=False)

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
            ordered = sorted(versions, key=lambda row: (row["first_seen_at"], str(row["id"])), reverse=True)
            compared = await self._compare(looking, ordered)
        for row in ordered:
            row["demo"] = naming.is_demo(row["provider"])
        title = next((row["title"] for row in ordered if row["title"]), None)
        named = naming.post_name({**post, "title": title})
        return {
            "section": "/corrections",
            "post": post,
            "title": naming.excerpt(title or naming.capitalised(named), 160),
            "link": links.web(post["url"]),
            "versions": ordered,
            "cut": len(versions) == VERSIONS,
            "compared": compared,
        }

    async def _compare(self, looking: Looking, versions: list[Row]) -> list[Row]:
        pairs = list(zip(versions[1:], versions, strict=False))[:COMPARED]
        keys = [(old["content_hash"], new["content_hash"]) for old, new in pairs]
        cleared = self._compared.cleared
        missing = {text for key in keys if self._compared.get(key) is None for text in key}
        texts = await looking.texts(sorted(missing))
        compared = []
        for (old, new), key in zip(pairs, keys, strict=True):
            found = self._compared.get(key)
            if found is None:
                found = changes(texts[key[0]], texts[key[1]])
                self._compared.put(key, found, cleared=cleared)
            compared.append({"old": old, "new": new, "changes": found})
        return compared
