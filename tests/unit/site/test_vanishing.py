"""A post that is erased while a page is put together: statements of one page do not share a snapshot."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import cast
from uuid import UUID

from kit.clock import SystemClock
from services.gateway.public.graphql.graph import RecordGraph
from services.gateway.public.site.listing import ListQuery, list_corrections
from services.gateway.public.site.posts import PostPages
from services.gateway.record.investigations import Card, Passage, Summary
from services.gateway.record.posts import Post, Version
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


def a_version(number: int) -> Version:
    return Version(
        id=UUID(int=number),
        content_hash=str(number) * 64,
        first_seen_at=AT,
        last_seen_at=AT,
        server_verified_at=AT,
        corroborated_at=None,
        word_count=2,
        title=None,
        investigation_id=None,
        claim_count=None,
        withdrawn_count=None,
        status=None,
        provider=None,
    )


@dataclass
class PostOfTwoVersions:
    """Its texts, and what happens before they are read."""

    texts_by_hash: dict[str, str] = field(default_factory=lambda: {"1" * 64: "Old words.", "2" * 64: "New words."})
    meanwhile: Callable[[], object] = lambda: None

    @asynccontextmanager
    async def open(self) -> AsyncIterator[SimpleNamespace]:
        yield SimpleNamespace(posts=self)

    async def one(self, platform: str, external_id: str) -> Post:
        url = "https://x.example/p"
        return Post(
            id=UUID(int=9),
            platform=platform,
            external_id=external_id,
            url=url,
            author_name=None,
            author_confirmed=False,
            author_id=None,
        )

    async def versions(self, post: UUID) -> list[Version]:
        return [a_version(2), a_version(1)]

    async def texts(self, hashes: Sequence[str]) -> dict[str, str]:
        self.meanwhile()
        return {each: self.texts_by_hash[each] for each in hashes if each in self.texts_by_hash}


async def test_what_a_page_compares_does_not_vanish_with_the_cache() -> None:
    record = PostOfTwoVersions()
    pages = PostPages(cast(PublicRecord, record), SystemClock())
    first = await pages.post("X", "1")
    record.meanwhile = pages.clear_caches
    second = await pages.post("X", "1")
    assert first is not None
    assert second is not None
    assert second["compared"] == first["compared"] != []


async def test_versions_that_were_erased_meanwhile_are_not_compared() -> None:
    record = PostOfTwoVersions()
    record.meanwhile = record.texts_by_hash.clear
    shown = await PostPages(cast(PublicRecord, record), SystemClock()).post("X", "1")
    assert shown is not None
    assert shown["compared"] == []
