"""Finished investigations in lists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from services.gateway.public.highlight import Highlight
from services.gateway.public.site import naming
from services.gateway.record.investigations import Card

PAGE: Final = 20


def name_post(card: Card) -> str:
    """The name of a card's post within a sentence."""
    return naming.post_name(card.title, card.named_author, card.platform)


@dataclass(frozen=True, slots=True)
class CardView:
    """A card with the further values of its template."""

    row: Card
    highlights: Sequence[Highlight] = ()

    @property
    def is_demo(self) -> bool:
        """Whether the provider is the demonstration."""
        return naming.is_demo(self.row.provider)

    @property
    def provenance(self) -> str:
        """Who vouches for the text."""
        return naming.describe_backing(self.row, self.row.platform)

    @property
    def name(self) -> str:
        """The post's name, capitalised."""
        return self.row.title or naming.capitalise(name_post(self.row))
