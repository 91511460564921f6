"""The page of a post: its versions, and the diffs between them.

If some versions are confirmed or corroborated, only those are compared and name the page; others are listed separately.
Versions never change, so diffs are cached. They may take long, so they are computed in a thread, after the connection
is released.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from kit.cache import Cache
from kit.clock import Clock
from services.gateway.public.site import links, naming
from services.gateway.public.site.changes import Changes, compare_texts
from services.gateway.public.site.pagination import weight
from services.gateway.public.site.rendering import Values
from services.gateway.record.posts import VERSIONS, Version
from services.gateway.record.repository import PublicRecord

COMPARED: Final = 6
"""How many diffs are shown; each may need two long texts."""
CHANGES: Final = 56_000
"""The size of all diffs on the page. Units: bytes of HTML."""


@dataclass(frozen=True, slots=True)
class Compared:
    """Two consecutive versions and their diff."""

    old: Version
    new: Version
    changes: Changes


@dataclass
class PostPages:
    """The pages of posts."""

    record: PublicRecord
    clock: Clock
    compare: Callable[[str, str], Changes] = compare_texts
    _compared: Cache[tuple[str, str], Changes] = field(init=False)

    def __post_init__(self) -> None:
        self._compared = Cache(self.clock, capacity=500)

    def clear_caches(self) -> None:
        """Drop cached diffs."""
        self._compared.clear()

    async def post(self, platform: str, external_id: str) -> Values | None:
        """A post with its versions."""
        if not external_id or not external_id.isprintable():
            return None
        async with self.record.open() as session:
            post = await session.posts.one(platform.upper(), external_id)
            if post is None:
                return None
            versions = await session.posts.versions(post.id)
            newest_first = sorted(versions, key=lambda row: (row.first_seen_at, str(row.id)), reverse=True)
            listed = [row for row in newest_first if row.is_listed]
            ordered = listed or newest_first
            pairs = list(zip(ordered[1:], ordered, strict=False))[:COMPARED]
            keys = [_key(old, new) for old, new in pairs]
            known = {key: changes for key in keys if (changes := self._compared.get(key)) is not None}
            texts = await session.posts.texts(sorted({text for key in keys if key not in known for text in key}))
        compared = [
            Compared(old, new, known.get(key) or await self._compare(key, texts))
            for (old, new), key in zip(pairs, keys, strict=True)
            if key in known or texts.keys() >= {*key}  # else it was erased meanwhile
        ]
        title = next((row.title for row in ordered if row.title), None)
        author = post.author_name if post.author_confirmed else None
        named = naming.post_name(title, author, post.platform)
        return {
            "section": "/corrections",
            "post": post,
            "title": naming.excerpt(title or naming.capitalise(named), 160),
            "link": links.safe_link(post.url),
            "listed": bool(listed),
            "versions": ordered,
            "others": [row for row in newest_first if listed and not row.is_listed],
            "cut": len(ordered) == VERSIONS,
            "compared": _fit(compared),
        }

    async def _compare(self, key: tuple[str, str], texts: Mapping[str, str]) -> Changes:
        return await self._compared.get_or_make(
            key, lambda: asyncio.to_thread(self.compare, texts[key[0]], texts[key[1]])
        )


def _fit(compared: Sequence[Compared]) -> list[Compared]:
    """Drop the diffs that exceed the page's size, oldest first."""
    left = CHANGES
    fitting = []
    for each in compared:
        found = each.changes
        shown = []
        for change in found.shown:
            left -= 60 + sum(weight(edit.text) + 12 for edit in change)
            if left < 0:
                break
            shown.append(change)
        more = found.more + len(found.shown) - len(shown)
        fitting.append(replace(each, changes=replace(found, shown=tuple(shown), more=more)))
    return fitting


def _key(old: Version, new: Version) -> tuple[str, str]:
    return old.content_hash, new.content_hash
