"""A post that is erased while a page of results is put together: statements of one page do not share a snapshot."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import cast
from uuid import UUID

from services.gateway.public.graphql.graph import RecordGraph
from services.gateway.public.site.listing import ListQuery, list_corrections
from services.gateway.record.investigations import Card, Passage, Summary
from services.gateway.record.question import Filters, Hit
from services.gateway.record.repository import PublicRecord
from tests.support.record_rows import AT, a_card, a_claim

CARD = a_card(a_claim("The moon is made of cheese.", "It is made of rock."))
HIT = Hit(CARD.id, CARD.checked_at)
SUMMARY = Summary(
    id=CARD.id,
    checked_at=AT,
    corroboration_count=0,
    provenance="CLIENT_FALLBACK",
    server_verified_at=None,
    corroborated_at=None,
    platform="X",
    external_id="1",
    url="https://x.example/p",
    content_hash="a" * 64,
    claim_count=1,
    claim_summaries=(),
)


class ErasedMeanwhile:
    """The rows of a post that is gone when its passages are read."""

    async def ranked(self, *_: object) -> list[Hit]:
        return [HIT]

    async def cards(self, ids: Sequence[UUID]) -> list[Card]:
        return [CARD]

    async def summaries(self, ids: Sequence[UUID]) -> list[Summary]:
        return [SUMMARY]

    async def passages(self, ids: Sequence[UUID], found: str) -> dict[UUID, Passage]:
        return {}


class Record:
    """A record with that post alone."""

    @asynccontextmanager
    async def open(self) -> AsyncIterator[SimpleNamespace]:
        rows = ErasedMeanwhile()
        yield SimpleNamespace(search=rows, investigations=rows)


RECORD = cast(PublicRecord, Record())


async def test_a_page_leaves_out_what_was_erased_while_it_was_made() -> None:
    values = await list_corrections(RECORD, ListQuery("moon"))
    assert (values["cards"], values["refusal"]) == ([], None)


async def test_graphql_leaves_out_what_was_erased_while_it_was_asked() -> None:
    found = await RecordGraph(RECORD).search("moon", Filters(), ranked=True, first=5, after=None)
    assert list(found.edges) == []
