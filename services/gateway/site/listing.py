"""The list of corrections: newest first, or the best first where words are looked for.

A page has a number or begins after a place. Numbers shift when something new comes and places do not, so the list links
the latter wherever it is in the order of time.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Final
from urllib.parse import urlencode

from services.gateway.search.highlight import highlights
from services.gateway.search.question import BadQuestion, Filters, Hit, place_at, sought
from services.gateway.search.reads import RANKED
from services.gateway.site import naming
from services.gateway.site.cards import PAGE, cards_of
from services.gateway.site.leaves import weight
from services.gateway.site.prose import plain
from services.gateway.site.reads import Looking, Row, Shelf

PATH = "/corrections"
HITS: Final = 3
HITS_WEIGHT: Final = 1_000
MARK: Final = len("<mark></mark>")
Values = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked for. `page` counts from 1; `after` is a place in the order of time and needs no page."""

    words: str = ""
    platform: str = ""
    newest: bool = False
    page: int = 1
    after: str = ""

    @property
    def site(self) -> str | None:
        """The site that is meant, if it is one."""
        return self.platform.upper() if self.platform.upper() in naming.PLATFORMS else None

    @property
    def ranked(self) -> bool:
        """Whether the best come first."""
        return bool(self.words) and not self.newest and not self.after

    def link(self, **changes: object) -> str:
        """The same list elsewhere."""
        order = "newest" if self.words and (self.newest or self.after) else None
        asked = {"q": self.words, "platform": self.platform.lower(), "order": order, **changes}
        used = {name: value for name, value in asked.items() if value}
        return f"{PATH}?{urlencode(used)}" if used else PATH


async def listed(shelf: Shelf, wanted: Wanted) -> Values:
    """What the template shows."""
    values: Values = {
        "section": PATH,
        "q": wanted.words or None,
        "platform": wanted.site,
        "platforms": list(naming.PLATFORMS.items()),
        "later": wanted.page > 1 or bool(wanted.after),
        "ranked": wanted.ranked,
        "best": wanted.link(order=None),
        "by_time": wanted.link(order="newest" if wanted.words else None),
        "first": wanted.link(),
        "older": None,
        "found": None,
        "cards": [],
        "refusal": None,
    }
    try:
        text = sought(wanted.words) if wanted.words else None
        async with shelf.open() as looking:
            hits, found = await _hits(looking, wanted, text)
            values["cards"] = await _cards(looking, hits[:PAGE], text)
    except BadQuestion as refusal:
        return values | {"refusal": str(refusal)}
    if len(hits) > PAGE:
        after = {"page": wanted.page + 1} if wanted.ranked else {"after": hits[PAGE - 1].place.cursor()}
        values["older"] = wanted.link(**after)
    return values | {"found": found, "at_most": RANKED}


async def _hits(looking: Looking, wanted: Wanted, text: str | None) -> tuple[list[Hit], int | None]:
    """The results of a page and one more, and how many there are in all where that is known."""
    filters, skipped = Filters(wanted.site, 1), (wanted.page - 1) * PAGE
    if text is not None and wanted.ranked:
        every = await looking.search.ranked(text, filters)
        return every[skipped : skipped + PAGE + 1], len(every)
    if wanted.after:
        return await looking.search.newest(text, filters, place_at(wanted.after), PAGE + 1), None
    return await looking.search.skipping(text, filters, skipped, PAGE + 1), None


async def _cards(looking: Looking, hits: list[Hit], text: str | None) -> list[Row]:
    ids = [hit.investigation_id for hit in hits]
    cards = await cards_of(looking, ids)
    if text is not None:
        passages = await looking.record.passages(ids, text)
        for card in cards:
            found = passages[card["id"]]
            claims = [claim | {"reasoning": plain(claim["reasoning"])} for claim in found["claims"]]
            card["highlights"] = _light(_unseen(card, highlights({**found, "claims": claims}, text)))
    return cards


def _light(found: list[Row]) -> list[Row]:
    """A few of them, so that twenty cards are a small page."""
    weights = accumulate(sum(weight(part["text"]) + MARK for part in hit["parts"]) for hit in found)
    return [hit for hit, together in zip(found[:HITS], weights, strict=False) if together <= HITS_WEIGHT]


def _unseen(card: Row, found: list[Row]) -> list[Row]:
    """What was found in places that the card does not show anyway."""
    shown = {claim[part] for claim in card["claims"][:2] for part in ("text", "summary")}
    return [hit for hit in found if "".join(part["text"] for part in hit["parts"]) not in shown]
