"""The list of corrections: newest first, or ranked for a search.

A page has a number or begins after a cursor. Numbers shift with new results and cursors do not, so lists in the order
of time use cursors.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Final
from urllib.parse import urlencode

from platforms import find_permalink
from services.gateway.public.highlight import Highlight, find_highlights
from services.gateway.public.site import naming
from services.gateway.public.site.cards import PAGE, CardView
from services.gateway.public.site.pagination import weight
from services.gateway.public.site.prose import strip_markdown
from services.gateway.public.site.rendering import Values
from services.gateway.record.investigations import Card, Passage
from services.gateway.record.question import BadQuestion, Filters, Hit, normalise_words, parse_cursor
from services.gateway.record.repository import PublicRecord, RecordSession
from services.gateway.record.search import MAX_RANKED

PATH = "/corrections"
HITS: Final = 3
HITS_WEIGHT: Final = 1_000
MARK: Final = len("<mark></mark>")


@dataclass(frozen=True, slots=True)
class ListQuery:
    """The parameters of the list. `page` counts from 1; `after` is a cursor in the order of time."""

    words: str = ""
    platform: str = ""
    newest: bool = False
    page: int = 1
    after: str = ""

    @property
    def site(self) -> str | None:
        """The requested site, if it is known."""
        return self.platform.upper() if self.platform.upper() in naming.SITES else None

    @property
    def ranked(self) -> bool:
        """Whether results are ordered by rank."""
        return bool(self.words) and not self.newest and not self.after

    def link(self, **changes: object) -> str:
        """The URL of the same list with other parameters."""
        order = "newest" if self.words and (self.newest or self.after) else None
        params = {"q": self.words, "platform": self.platform.lower(), "order": order, **changes}
        used = {name: value for name, value in params.items() if value}
        return f"{PATH}?{urlencode(used)}" if used else PATH


async def list_corrections(record: PublicRecord, query: ListQuery) -> Values:
    """Values of the template."""
    values: Values = {
        "section": PATH,
        "q": query.words or None,
        "platform": query.site,
        "platforms": list(naming.SITES.items()),
        "later": query.page > 1 or bool(query.after),
        "ranked": query.ranked,
        "best": query.link(order=None),
        "by_time": query.link(order="newest" if query.words else None),
        "first": query.link(),
        "older": None,
        "found": None,
        "cards": [],
        "refusal": None,
    }
    try:
        text = normalise_words(find_permalink(query.words) or query.words) if query.words else None
        async with record.open() as session:
            hits, found = await _find(session, query, text)
            values["cards"] = await _load_cards(session, hits[:PAGE], text)
    except BadQuestion as refusal:
        return values | {"refusal": str(refusal)}
    if len(hits) > PAGE:
        after = {"page": query.page + 1} if query.ranked else {"after": hits[PAGE - 1].place.cursor()}
        values["older"] = query.link(**after)
    return values | {"found": found, "at_most": MAX_RANKED}


async def _find(session: RecordSession, query: ListQuery, text: str | None) -> tuple[list[Hit], int | None]:
    """The results of a page and one more, and their total if it is known."""
    filters, skipped = Filters(query.site, 1), (query.page - 1) * PAGE
    if text is not None and query.ranked:
        every = await session.search.ranked(text, filters)
        return every[skipped : skipped + PAGE + 1], len(every)
    if query.after:
        return await session.search.newest(text, filters, parse_cursor(query.after), PAGE + 1), None
    return await session.search.with_offset(text, filters, skipped, PAGE + 1), None


async def _load_cards(session: RecordSession, hits: list[Hit], text: str | None) -> list[CardView]:
    ids = [hit.investigation_id for hit in hits]
    cards = await session.investigations.cards(ids)
    if text is None:
        return [CardView(card) for card in cards]
    passages = await session.investigations.passages(ids, text)  # read separately: a post may be erased in between
    return [CardView(card, _highlight(card, passages[card.id], text)) for card in cards if card.id in passages]


def _highlight(card: Card, passage: Passage, text: str) -> list[Highlight]:
    claims = tuple(replace(claim, reasoning=strip_markdown(claim.reasoning)) for claim in passage.claims)
    return _limit_highlights(_drop_displayed(card, find_highlights(replace(passage, claims=claims), text)))


def _limit_highlights(found: list[Highlight]) -> list[Highlight]:
    """The first few highlights, to keep the page small."""
    weights = accumulate(sum(weight(part.text) + MARK for part in hit.parts) for hit in found)
    return [hit for hit, together in zip(found[:HITS], weights, strict=False) if together <= HITS_WEIGHT]


def _drop_displayed(card: Card, found: list[Highlight]) -> list[Highlight]:
    """The highlights of passages that the card does not display."""
    shown = {text for claim in card.claims[:2] for text in (claim.text, claim.summary)}
    return [hit for hit in found if "".join(part.text for part in hit.parts) not in shown]
