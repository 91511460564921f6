"""The pages of authors: how often their posts were checked, and how often something was found wrong."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlencode
from uuid import UUID

from services.gateway.cursors import parse_author_key, read_key, write_key
from services.gateway.public.site.cards import PAGE, CardView
from services.gateway.public.site.rendering import Values
from services.gateway.record.authors import AuthorMetrics
from services.gateway.record.question import BadQuestion, normalise_words, parse_cursor
from services.gateway.record.repository import PublicRecord

AUTHORS: Final = 50


async def list_authors(record: PublicRecord, words: str, after: str) -> Values:
    """A page of authors by name. An invalid query is reported on the page."""
    words = words.strip()
    params = {"q": words} if words else {}
    values: Values = {
        "section": "/authors",
        "q": words or None,
        "after": after or None,
        "newest": f"/authors?{urlencode(params)}" if params else "/authors",
        "older": None,
        "authors": [],
        "refusal": None,
    }
    try:
        name = normalise_words(words) if words else None
        place = read_key(after, parse_author_key) if after else None
        async with record.open() as session:
            rows = await session.authors.named(name, None, place, AUTHORS + 1)
            metrics = await session.authors.metrics([row.id for row in rows[:AUTHORS]])
    except BadQuestion as refusal:
        return values | {"refusal": str(refusal)}
    values["authors"] = [(row, metrics.get(row.id, AuthorMetrics())) for row in rows[:AUTHORS]]
    if len(rows) > AUTHORS:
        last = rows[AUTHORS - 1]
        cursor = write_key(last.display_name, last.id.hex)
        values["older"] = f"/authors?{urlencode({**params, 'after': cursor})}"
    return values


async def show_author(record: PublicRecord, known: UUID, after: str) -> Values | None:
    """The page of one author, or None. Raises: BadQuestion: the cursor is not valid."""
    async with record.open() as session:
        author = (await session.authors.by_id([known])).get(known)
        if author is None:
            return None
        metrics = (await session.authors.metrics([known])).get(known, AuthorMetrics())
        hits = await session.authors.investigations(known, parse_cursor(after) if after else None, PAGE + 1)
        cards = await session.investigations.cards([hit.investigation_id for hit in hits[:PAGE]])
    older = None
    if len(hits) > PAGE:
        older = f"/authors/{known}?{urlencode({'after': hits[PAGE - 1].place.cursor()})}"
    return {
        "section": "/authors",
        "author": author,
        "counts": metrics,
        "incidence": metrics.fact_check_incidence if metrics.investigated_posts else None,
        "cards": [CardView(card) for card in cards],
        "after": after or None,
        "older": older,
    }
