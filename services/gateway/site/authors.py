"""Authors: who was checked how often, and how often something was found wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode
from uuid import UUID

from services.gateway.domain import parse_id
from services.gateway.graphql.cursors import read_key, write_key
from services.gateway.search.question import BadQuestion, Place, has_trigram, like, place_at, sought
from services.gateway.site.cards import PAGE, cards_of
from services.gateway.site.reads import Row, Shelf

AUTHORS: Final = 50

Values = dict[str, Any]


@dataclass
class Authors:
    """The pages of authors."""

    shelf: Shelf

    async def found(self, words: str, after: str) -> Values:
        """A page of authors by name. Raises: nothing: what cannot be asked is told on the page."""
        asked = {"q": words.strip()} if words.strip() else {}
        values: Values = {
            "section": "/authors",
            "q": words.strip() or None,
            "after": after or None,
            "newest": f"/authors?{urlencode(asked)}" if asked else "/authors",
            "older": None,
            "authors": [],
            "refusal": None,
        }
        try:
            name = sought(words) if words.strip() else None
            pattern = short = None
            if name is not None:
                pattern, short = like(name), None if has_trigram(name) else name
            place = None
            if after:
                place = read_key(after, str, UUID)
            async with self.shelf.open() as looking:
                rows = await looking.record.authors(pattern, short, None, place, AUTHORS + 1)
                counts = await looking.record.author_metrics([row["id"] for row in rows[:AUTHORS]])
        except BadQuestion as refusal:
            values["refusal"] = str(refusal)
            return values
        values["authors"] = [row | _counts(counts.get(row["id"])) for row in rows[:AUTHORS]]
        if len(rows) > AUTHORS:
            last = rows[AUTHORS - 1]
            cursor = write_key(last["display_name"], last["id"].hex)
            values["older"] = f"/authors?{urlencode({**asked, 'after': cursor})}"
        return values

    async def one(self, name: str, after: str) -> Values | None:
        """One author. Raises: BadQuestion: the cursor is none of ours."""
        known = parse_id(name)
        if known is None:
            return None
        async with self.shelf.open() as looking:
            author = (await looking.record.by_id([known])).get(known)
            if author is None:
                return None
            counts = _counts((await looking.record.author_metrics([known])).get(known))
            found = await looking.record.of_author(known, place_at(after) if after else None, PAGE + 1)
            cards = await cards_of(looking, [row["investigation_id"] for row in found[:PAGE]])
        older = None
        if len(found) > PAGE:
            last = found[PAGE - 1]
            older = f"/authors/{known}?{urlencode({'after': _cursor(last)})}"
        posts = counts["investigated_posts"]
        return {
            "section": "/authors",
            "author": author,
            "counts": counts,
            "incidence": counts["flagged_posts"] / posts if posts else None,
            "cards": cards,
            "after": after or None,
            "older": older,
        }


def _counts(row: Row | None) -> Row:
    return {name: int(row[name]) if row else 0 for name in ("investigated_posts", "flagged_posts", "claim_count")}


def _cursor(row: Row) -> str:
    return Place(row["checked_at"], row["investigation_id"]).cursor()
