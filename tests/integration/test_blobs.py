"""Bytes by their hash on a real S3 server, and answers by the step they belong to."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import datetime, timedelta, tzinfo

import pytest
from minio.deleteobjects import DeleteError

from kit.blob_settings import BlobMissing, BlobSettings
from kit.blobs import Blobs, BlobsUnavailable
from kit.s3_client import S3Client
from kit.s3_puts import SmallPuts
from tests.support.servers import S3

pytest_plugins = ["tests.support.servers"]

LONG = "So they say. " * 2_000


@pytest.fixture
def stores(s3: S3) -> Iterator[tuple[Blobs, Blobs, Blobs]]:
    """The store as three processes see it."""
    settings = BlobSettings(s3.endpoint.partition("//")[2] or s3.endpoint, s3.access_key, s3.secret_key, s3.bucket)
    three = Blobs(settings), Blobs(settings), Blobs(settings)
    yield three
    for each in three:
        each.close()


async def test_what_somebody_else_had_erased_is_stored_again(stores: tuple[Blobs, Blobs, Blobs]) -> None:
    writer, eraser, reader = stores
    stored = await writer.put(b"the same words in two posts")
    assert await writer.put(b"the same words in two posts") == stored
    await eraser.remove(stored.sha256)
    with pytest.raises(BlobMissing):
        await reader.get(stored.sha256)
    assert await writer.put(b"the same words in two posts") == stored
    assert await reader.get(stored.sha256) == b"the same words in two posts"


@pytest.mark.requirement("2.6-15", "3.6-03")
async def test_an_answer_is_found_by_its_step_by_who_does_not_know_its_hash(
    stores: tuple[Blobs, Blobs, Blobs],
) -> None:
    """2.6-15: A request during a run starts no second one.
    3.6-03: A run whose worker died is taken up again.
    """
    writer, eraser, reader = stores
    one = await writer.put_text(LONG, "run/1/first")
    other = await writer.put_text(LONG + "!", "run/1/first")
    elsewhere = await writer.put_text(LONG, "run/1/first-of-another")
    assert sorted(ref.sha256 for ref in await reader.answers("run/1/first")) == sorted([one.sha256, other.sha256])
    assert one in await reader.answers("run/1/first")
    assert await reader.answers("run/1/second") == []
    assert [await reader.get_text(ref) for ref in (one, other, elsewhere)] == [LONG, LONG + "!", LONG]
    assert {one.sha256, other.sha256} <= (await reader.names()).keys()
    for ref in await eraser.answers("run"):
        await eraser.remove(ref.sha256, ref.under)
    assert await reader.answers("run") == []
    with pytest.raises(BlobMissing):
        await eraser.get_text(one)


async def test_an_answer_that_a_restore_put_among_the_others_is_read_there(stores: tuple[Blobs, Blobs, Blobs]) -> None:
    writer, restorer, reader = stores
    ref = await writer.put_text(LONG, "run/2/first")
    await restorer.remove(ref.sha256, ref.under)
    await restorer.put(LONG.encode())
    assert await reader.get_text(ref) == LONG


async def test_a_short_answer_travels_in_its_fact(stores: tuple[Blobs, Blobs, Blobs]) -> None:
    writer, _, reader = stores
    ref = await writer.put_text("No.", "run/3/first")
    assert ref.inline == "No."
    assert await reader.answers("run/3/first") == []
    await writer.store_answer(ref)  # its event could not be stored
    (found,) = await reader.answers("run/3/first")
    assert (found.sha256, await reader.get_text(found)) == (ref.sha256, "No.")


@pytest.mark.parametrize("days", [1, -1])
async def test_a_clock_that_is_a_day_off_costs_nothing(
    stores: tuple[Blobs, Blobs, Blobs], monkeypatch: pytest.MonkeyPatch, days: int
) -> None:
    """S3 refuses requests whose date is not about its own, among them the first try of a put."""
    off = timedelta(days=days)

    async def refused(*_: object) -> bool:
        return False

    class Wrong(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Wrong:
            moment = datetime.now(tz) + off
            return cls.fromisoformat(moment.isoformat())

    monkeypatch.setattr(SmallPuts, "put", refused)  # its clock is out of reach
    monkeypatch.setattr("minio.time.datetime", Wrong)
    writer, other, reader = stores
    await reader.require()
    stored = await writer.put(b"written on another day")
    assert await reader.get(stored.sha256) == b"written on another day"
    assert await asyncio.gather(*(other.texts("job") for _ in range(4))) == [[]] * 4, "sent together, all are dated so"
    off = timedelta()
    assert (await writer.put(b"written today")).size_bytes == 13


async def test_a_folder_is_removed_with_all_that_lies_below_it(stores: tuple[Blobs, Blobs, Blobs]) -> None:
    writer, eraser, reader = stores
    for folder in ("job/1/open", "job/1/open/text", "job/1/kept", "job/10/open"):
        await writer.put(folder.encode(), under=folder)
    assert await eraser.remove_folder("job/1/open") == 2
    assert await eraser.remove_folder("job/1/open") == 0
    assert [each.under for each in await reader.texts("job")] == ["job/1/kept", "job/10/open"]


async def test_an_object_that_is_not_removed_is_no_success(
    stores: tuple[Blobs, Blobs, Blobs], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store answers a request for many objects with success, and names in it what went wrong."""
    await stores[0].put(b"words", under="job/2")
    monkeypatch.setattr(S3Client, "remove_objects", lambda *_: iter([DeleteError("AccessDenied", None, "job/2", None)]))
    with pytest.raises(BlobsUnavailable, match="blob store"):
        await stores[1].remove_folder("job/2")
