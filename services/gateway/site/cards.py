"""Finished investigations as lists show them."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from services.gateway.site import naming, provenance
from services.gateway.site.reads import Looking, Row

PAGE: Final = 20


async def cards_of(looking: Looking, ids: list[UUID]) -> list[Row]:
    """The cards of these, in their order; nothing is highlighted yet."""
    cards = await looking.cards(ids)
    return [
        card
        | {
            "demo": naming.is_demo(card["provider"]),
            "provenance": provenance.told(card),
            "highlights": [],
            "name": card["title"] or naming.capitalised(naming.post_name(card)),
        }
        for card in cards
    ]
