"""What was displayed, from the log: results and releases, with their quotes and the pages that were stored for them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from sqlalchemy import text

from contracts.topology import CURATOR_QUOTES_MARK, ERRATA, MARKS
from contracts.v1 import ClaimApproved, Event, FindingChanged, InvestigationCompleted, decode
from contracts.v1.parts import BlobRef, PublishedClaim
from kit.bus import Bus
from kit.database import Database
from kit.kv import Bucket, Entry
from kit.pages import read_page
from services.curator.record.reading import LoggedTables

APPROVALS: Final = 256
"""Approvals that are read at once."""
_SUBJECTS: Final = tuple(f"{kind.SUBJECT}.*" for kind in (InvestigationCompleted, FindingChanged))
_DISPLAYED: Final = text("""
    SELECT c.id FROM investigation_doc d JOIN claim c USING (investigation_id)
        LEFT JOIN finding_state f ON f.claim_id = c.id
    WHERE d.investigation_id = ANY (:investigations) AND d.claim_count > 0
        AND (f.state IS NULL OR f.state = 'RELEASED')
""")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredPage:
    """The bytes of a page, and the type by which they were read."""

    blob: BlobRef
    content_type: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DisplayedQuote:
    """A quotation of a displayed finding. Shapes: `pages` were stored under the address that it cites."""

    claim_id: UUID
    snippet: str
    pages: tuple[StoredPage, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Displays:
    """The displays of the log behind the sequence `after`, up to `through`."""

    quotes: Sequence[DisplayedQuote]
    after: int
    through: int


class LoggedDisplays(LoggedTables):
    """The stream `ERRATA`, the tables, and a mark in the broker. Raises: Outage: they could not be read now."""

    STREAM = ERRATA

    def __init__(self, bus: Bus, database: Database) -> None:
        super().__init__(bus, database)
        self._marked: Entry | None = None

    async def next(self, limit: int) -> Displays:
        """The next displays behind the mark that the tables hold, without quotes of findings no longer displayed."""
        self._marked = await (await Bucket.open(self._bus, MARKS)).entry(CURATOR_QUOTES_MARK)
        after = int(self._marked.value) if self._marked is not None else 0
        position = await self.position()
        if position <= after:
            return Displays(quotes=(), after=after, through=after)
        page = await read_page(self._bus, ERRATA.name, _SUBJECTS, after=after, limit=limit)
        held = [each for each in page.messages if each.sequence <= position][:limit]
        through = held[-1].sequence if len(held) == limit else position
        claims = dict(_name_claims(decode(each.subject, each.data).event for each in held))
        displayed = await self._find_displayed(set(claims.values()))
        wanted = {claim: run for claim, run in claims.items() if claim in displayed}
        quotes = [quote for run in set(wanted.values()) for quote in await self._read_quotes(run, wanted)]
        return Displays(quotes=quotes, after=after, through=through)

    async def mark(self, displays: Displays) -> None:
        """Move the mark behind these displays, unless another curator has moved it."""
        marks, value = await Bucket.open(self._bus, MARKS), str(displays.through).encode()
        if self._marked is None:
            await marks.create(CURATOR_QUOTES_MARK, value)
        else:
            await marks.update(CURATOR_QUOTES_MARK, value, self._marked.revision)

    async def _find_displayed(self, runs: Collection[UUID]) -> set[UUID]:
        if not runs:
            return set()
        async with self._database.connect() as connection:
            return set((await connection.execute(_DISPLAYED, {"investigations": list(runs)})).scalars())

    async def _read_quotes(self, run: UUID, wanted: Collection[UUID]) -> Sequence[DisplayedQuote]:
        subjects = [f"{kind.SUBJECT}.{run}" for kind in (ClaimApproved, InvestigationCompleted)]
        events: list[Event] = []
        after, more = 0, True
        while more:
            page = await read_page(self._bus, ERRATA.name, subjects, after=after, limit=APPROVALS)
            events += (decode(each.subject, each.data).event for each in page.messages)
            after, more = page.messages[-1].sequence if page.messages else after, page.more
        approvals = [each for each in events if isinstance(each, ClaimApproved)]
        published = [each for event in events if isinstance(event, InvestigationCompleted) for each in event.claims]
        return [quote for claim in published if claim.claim_id in wanted for quote in _quote(claim, approvals)]


def _name_claims(events: Iterator[Event]) -> Iterator[tuple[UUID, UUID]]:
    """The claims that events display, each with its investigation."""
    for event in events:
        if isinstance(event, InvestigationCompleted):
            yield from ((each.claim_id, event.investigation_id) for each in event.claims)
        elif isinstance(event, FindingChanged) and event.state == "RELEASED":
            yield event.claim_id, event.investigation_id


def _quote(claim: PublishedClaim, approvals: Sequence[ClaimApproved]) -> Iterator[DisplayedQuote]:
    """A claim's quotations that have a stored page: none in the demonstration, or if the page could not be fetched."""
    checked = [each for approval in approvals if approval.claim_id == claim.claim_id for each in approval.sources]
    for source in claim.payload.sources:
        pages = {
            each.page.sha256: StoredPage(blob=each.page, content_type=each.content_type)
            for each in checked
            if each.page is not None and each.url == source.url
        }
        if pages:
            yield DisplayedQuote(claim_id=claim.claim_id, snippet=source.snippet, pages=tuple(pages.values()))
