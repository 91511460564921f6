"""Words that are kept until an hour, on a real broker: unreadable from then on, and removed by the sweep."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from contracts.v1.parts import EphemeralRef
from kit import topology
from kit.blob_settings import BlobMissing
from kit.bus import Bus, connect
from kit.clock import SystemClock
from kit.ephemeral import EphemeralTexts, TextBucket, read, round_up
from kit.publisher import BusError, PublishRefused
from tests.support.fakes import StillClock
from tests.support.servers import nats_server
from tests.support.system import until

NOW = datetime.now(UTC).replace(minute=6, second=7, microsecond=0)
LONG = "So they say. " * 2_000
TWO_DAYS = timedelta(days=2)


@pytest.fixture
async def buses(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[Bus, Bus]]:
    """The broker as two processes see it."""
    with nats_server(tmp_path_factory.mktemp("broker")) as server:
        async with AsyncExitStack() as stack:
            url = server.endpoints.nats_url
            one, two = [await stack.enter_async_context(connect(url, name=name)) for name in ("one", "two")]
            await topology.apply(one)
            yield one, two


def open_both(buses: tuple[Bus, Bus], clock: StillClock | None = None) -> tuple[EphemeralTexts, EphemeralTexts]:
    one, two = (EphemeralTexts(TextBucket(bus), clock or StillClock(NOW)) for bus in buses)
    return one, two


async def test_words_are_there_until_their_hour_and_then_for_nobody(buses: tuple[Bus, Bus]) -> None:
    clock = StillClock(NOW)
    writer, reader = open_both(buses, clock)
    ref = await writer.put("A short text.", NOW + timedelta(hours=24))
    assert ref.until == (NOW + timedelta(hours=25)).replace(minute=0, second=0)
    assert await writer.get(ref) == await reader.get(ref) == "A short text."
    clock.time = ref.until - timedelta(seconds=1)
    assert await reader.get(ref) == "A short text."
    clock.time = ref.until
    for each in (writer, reader):
        with pytest.raises(BlobMissing, match="kept until"):
            await each.get(ref)
    assert await read(TextBucket(buses[1]), ref) == "A short text.", "who may is given it until the sweep"


async def test_the_sweep_takes_what_is_over_and_nothing_else(buses: tuple[Bus, Bus]) -> None:
    texts, elsewhere = open_both(buses)
    assert await texts.sweep(NOW) == 0, "nothing is there"
    past = await texts.put("Past.", NOW - timedelta(hours=1))
    sooner = await texts.put(LONG, NOW + timedelta(hours=1))
    answer = await texts.put(f"{LONG}!", NOW + timedelta(hours=1), "run/weigh/first")
    later = await texts.put(LONG, NOW + timedelta(hours=2))
    much_later = await texts.put(LONG, NOW + TWO_DAYS)
    assert await texts.sweep(NOW) == 1
    assert await texts.sweep(sooner.until - timedelta(seconds=1)) == 0
    assert await texts.sweep(sooner.until) == 2
    for gone in (past, sooner, answer):
        with pytest.raises(BlobMissing):
            await read(TextBucket(buses[1]), gone)
    assert await elsewhere.get(later) == await elsewhere.get(much_later) == LONG
    assert await texts.sweep(sooner.until) == 0, "a second time takes nothing"
    assert await texts.sweep(NOW + timedelta(days=4)) == 2, "days that were never swept, too"


async def test_an_answer_is_found_by_its_step_and_its_hour(buses: tuple[Bus, Bus]) -> None:
    until = NOW + timedelta(hours=3)
    writer, reader = open_both(buses)
    ref = await writer.put("Forty.", until, "run/3/first")
    assert list(await reader.answers("run/3/first", until)) == [ref]
    assert list(await reader.answers("run/3", until)) == [ref]
    for step, hour in (("run/3/second", until), ("run/3/fir", until), ("run/3", until + timedelta(hours=1))):
        assert list(await reader.answers(step, hour)) == [], step


async def test_the_same_words_stored_again_are_one_text(buses: tuple[Bus, Bus]) -> None:
    writer, reader = open_both(buses)
    until = NOW + timedelta(hours=3)
    assert await writer.put("Forty.", until, "run/3") == await reader.put("Forty.", until, "run/3")
    assert len(await reader.answers("run", until)) == 1


@given(
    st.datetimes(
        min_value=datetime(2000, 1, 1),
        max_value=datetime(9000, 1, 1),
        timezones=st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=30))]),
    )
)
def test_words_are_kept_no_shorter_than_was_said_and_less_than_an_hour_longer(moment: datetime) -> None:
    hour = round_up(moment)
    assert timedelta(0) <= hour - moment < timedelta(hours=1)
    ref = EphemeralRef(sha256="0" * 64, size_bytes=1, until=hour)
    assert EphemeralRef.model_validate_json(ref.model_dump_json()) == ref
    assert ref.place == f"until/{hour:%Y-%m-%d/%H}/{'0' * 64}"
    abroad = ref.model_copy(update={"until": hour.astimezone(timezone(timedelta(hours=9)))})
    assert abroad.name == ref.name


@pytest.mark.parametrize("until", ["2026-03-04T05:06:00Z", "2026-03-04T05:00:00.000001Z", "2026-03-04T05:00:00"])
def test_only_whole_hours_of_a_known_zone_are_taken(until: str) -> None:
    with pytest.raises(ValidationError):
        EphemeralRef.model_validate({"sha256": "0" * 64, "size_bytes": 1, "until": until})


async def test_what_is_removed_early_leaves_the_same_words_in_another_folder(buses: tuple[Bus, Bus]) -> None:
    writer, reader = open_both(buses)
    until = NOW + timedelta(hours=4)
    refs = [await writer.put(LONG, until, folder) for folder in ("job-1/text", "job-1/article", "job-2/text", None)]
    await writer.remove_answers("job-1/text", until)
    await writer.remove(refs[3])
    await writer.remove(refs[3])
    for ref in (refs[0], refs[3]):
        with pytest.raises(BlobMissing):
            await reader.get(ref)
    assert await reader.get(refs[1]) == await reader.get(refs[2]) == LONG
    await writer.remove_answers("job-1", until)
    assert list(await reader.answers("job-1", until)) == []
    assert list(await reader.answers("job-2", until)) == [refs[2]]


async def test_a_text_that_is_too_long_is_refused_and_a_broker_without_the_bucket_is_named(
    buses: tuple[Bus, Bus],
) -> None:
    texts, _ = open_both(buses)
    until = NOW + timedelta(hours=4)
    with pytest.raises(PublishRefused):
        await texts.put("x" * (buses[0].client.max_payload + 1), until)
    await buses[0].jetstream.delete_key_value("texts")
    for call in (texts.answers("job-1", until), texts.sweep(NOW), texts.remove_answers("job-1", until)):
        with pytest.raises(BusError, match="texts that expire"):
            await call


async def test_an_answer_waits_for_a_broker_that_is_away_and_other_words_do_not(tmp_path: Path) -> None:
    """An answer was paid for; who sends an article can send it again."""
    with nats_server(tmp_path, durable=True) as server:
        async with connect(server.endpoints.nats_url, name="worker") as bus:
            await topology.apply(bus)
            texts, until_ = EphemeralTexts(TextBucket(bus), SystemClock()), NOW + timedelta(hours=4)
            server.stop()

            async def silent() -> bool:
                return not bus.link.is_reachable

            await until(silent, "the broker is taken for silent")
            with pytest.raises(BusError):
                await texts.put("An article.", until_)
            storing = asyncio.create_task(texts.put("An answer.", until_, "run-1/first"))
            await asyncio.wait({storing}, timeout=0)
            server.start()
            ref = await storing
            assert list(await texts.answers("run-1", until_)) == [ref]
