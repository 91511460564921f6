"""The list of retracted findings, newest first, in pages that begin after a cursor."""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import Final

from contracts.v1.finding import FindingCause
from services.gateway.cursors import cut_page, parse_dated_key, read_key
from services.gateway.public.site import naming
from services.gateway.public.site.cards import PAGE
from services.gateway.public.site.rendering import Values
from services.gateway.record.repository import PublicRecord
from services.gateway.record.retractions import Retraction

PATH: Final = "/retractions"
CAUSES: Final[dict[FindingCause, str]] = {
    "APPEAL": "after an appeal",
    "REVIEW": "after a review",
    "CONTROL": "after a control",
    "SOURCE_CHANGED": "because a source changed",
    "OPERATOR": "by the operator",
}


@dataclass(frozen=True, slots=True)
class RetractionView:
    """A retraction with the further values of its template."""

    row: Retraction

    @property
    def is_demo(self) -> bool:
        """Whether the provider is the demonstration."""
        return naming.is_demo(self.row.provider)

    @property
    def cause(self) -> str:
        """The cause of the retraction, in words."""
        return CAUSES[self.row.cause]

    @property
    def name(self) -> str:
        """The post's name, capitalised."""
        row = self.row
        return row.title or naming.capitalise(naming.post_name(None, row.author_name, row.platform))


async def list_retractions(record: PublicRecord, after: str) -> Values:
    """Values of the template. Raises: BadQuestion: the cursor is invalid."""
    place = read_key(after, parse_dated_key) if after else None
    async with record.open() as session:
        rows = await session.retractions.newest(place, PAGE + 1)
    shown, older = cut_page(rows, PAGE, attrgetter("changed_at", "claim_id"))
    return {
        "section": "/corrections",
        "retractions": [RetractionView(row) for row in shown],
        "later": bool(after),
        "older": older and f"{PATH}?after={older}",
    }
