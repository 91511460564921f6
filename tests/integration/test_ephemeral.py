"""Words that are kept until an hour, on a real S3 server: unreadable from then on, and removed by the sweep."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from contracts.v1.parts import EPHEMERAL, EphemeralRef
from kit.blob_settings import BlobMissing, BlobSettings
from kit.blobs import Blobs
from kit.ephemeral import EphemeralTexts, round_up
from tests.support.fakes import StillClock
from tests.support.servers import S3

pytest_plugins = ["tests.support.servers"]

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
LONG = "So they say. " * 2_000


@pytest.fixture
def stores(s3: S3) -> Iterator[tuple[Blobs, Blobs]]:
    """The store as two processes see it."""
    settings = BlobSettings(s3.endpoint.partition("//")[2] or s3.endpoint, s3.access_key, s3.secret_key, s3.bucket)
    two = Blobs(settings), Blobs(settings)
    yield two
    for each in two:
        each.close()


async def test_words_are_there_until_their_hour_and_then_for_nobody(stores: tuple[Blobs, Blobs]) -> None:
    clock = StillClock(NOW)
    writer, reader = (EphemeralTexts(store, clock) for store in stores)
    ref = await writer.put("A short text.", NOW + timedelta(hours=24))
    assert ref.until == datetime(2026, 3, 5, 6, tzinfo=UTC)
    assert ref.under == "until/2026-03-05T06"
    assert await writer.get(ref) == await reader.get(ref) == "A short text."
    clock.time = ref.until - timedelta(seconds=1)
    assert await reader.get(ref) == "A short text."
    clock.time = ref.until
    for each in (writer, reader):  # also where it lies in memory
        with pytest.raises(BlobMissing, match="kept until"):
            await each.get(ref)


async def test_the_sweep_takes_what_is_over_and_nothing_else(stores: tuple[Blobs, Blobs]) -> None:
    store, other = stores
    texts = EphemeralTexts(store, StillClock(NOW))
    sooner = await texts.put(LONG, NOW + timedelta(hours=1))
    answer = await texts.put(f"{LONG}!", NOW + timedelta(hours=1), "run/weigh/first")
    later = await texts.put(LONG, NOW + timedelta(hours=2))
    forever = await store.put_text(LONG)
    await store.put(b"by hand", under=f"{EPHEMERAL}/notes")
    assert await texts.sweep(NOW) == 0
    assert await texts.sweep(sooner.until) == 2
    elsewhere = EphemeralTexts(other, StillClock(NOW))
    for gone in (answer,):
        with pytest.raises(BlobMissing):
            await elsewhere.get(gone)
    assert await elsewhere.get(later) == await other.get_text(forever) == LONG
    assert await other.get(sooner.sha256, sooner.under) == LONG.encode(), "the same words, kept elsewhere"
    assert await texts.sweep(sooner.until) == 0, "a second time takes nothing"


async def test_no_backup_lists_them(stores: tuple[Blobs, Blobs]) -> None:
    store, _ = stores
    ref = await EphemeralTexts(store, StillClock(NOW)).put(f"{LONG}?", NOW + timedelta(hours=1), "run/weigh/second")
    assert ref.sha256 not in await store.names()


async def test_an_answer_is_found_by_its_step_and_its_hour(stores: tuple[Blobs, Blobs]) -> None:
    until = NOW + timedelta(hours=3)
    writer, reader = (EphemeralTexts(store, StillClock(NOW)) for store in stores)
    ref = await writer.put("Forty.", until, "run/3/first")
    assert list(await reader.answers("run/3/first", until)) == [ref]
    assert list(await reader.answers("run/3", until)) == [ref]
    assert list(await reader.answers("run/3/second", until)) == []


@given(
    st.datetimes(
        timezones=st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=30))]), max_value=datetime(9000, 1, 1)
    )
)
def test_words_are_kept_no_shorter_than_was_said_and_less_than_an_hour_longer(moment: datetime) -> None:
    hour = round_up(moment)
    assert timedelta(0) <= hour - moment < timedelta(hours=1)
    ref = EphemeralRef(sha256="0" * 64, size_bytes=1, until=hour)
    assert EphemeralRef.model_validate_json(ref.model_dump_json()) == ref
    assert ref.under == f"until/{hour:%Y-%m-%dT%H}"


@pytest.mark.parametrize("until", ["2026-03-04T05:06:00Z", "2026-03-04T05:00:00.000001Z", "2026-03-04T05:00:00"])
def test_only_whole_hours_of_a_known_zone_are_taken(until: str) -> None:
    with pytest.raises(ValidationError):
        EphemeralRef.model_validate({"sha256": "0" * 64, "size_bytes": 1, "until": until})


async def test_what_is_removed_early_leaves_the_same_words_in_another_folder(stores: tuple[Blobs, Blobs]) -> None:
    writer, reader = (EphemeralTexts(store, StillClock(NOW)) for store in stores)
    until = NOW + timedelta(hours=4)
    refs = [await writer.put(LONG, until, folder) for folder in ("job-1/text", "job-1/article", "job-2/text", None)]
    await writer.remove_answers("job-1/text", until)
    await writer.remove(refs[3])
    await writer.remove(refs[3])
    for ref in (refs[0], refs[3]):
        with pytest.raises(BlobMissing):
            await EphemeralTexts(stores[1], StillClock(NOW)).get(ref)
    assert await reader.get(refs[2]) == LONG
    await writer.remove_answers("job-1", until)
    assert list(await reader.answers("job-1", until)) == []
    assert list(await reader.answers("job-2", until)) == [refs[2]]
