"""Dead letters against a real broker: handed back to one consumer alone, and a consumer that fails too much pauses."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from uuid import UUID, uuid4

import click
import nats.js.errors
import pytest
from structlog.testing import capture_logs

from contracts.topology import (
    CURATOR_FLAG_RAISED,
    CURATOR_JOB_ENDED,
    DEAD,
    ERRATA,
    JOBS,
    REDELIVERY,
    VERIFIER_OBSERVATION_RECEIVED,
)
from contracts.v1 import CanonicalUnavailable, Event, JobEnded, ObservationReceived
from contracts.v1.pages import Observation
from contracts.v1.parts import PostRef
from kit import circuit, dead_letters, topology
from kit.bus import Bus, connect
from kit.circuit import StopLimit
from kit.dead_letters import DeadLetter, Origin
from kit.delivery import Delivery
from kit.erase import Undeletable, erase_messages
from kit.errors import Reject
from kit.flow import compute_rates, measure_flow
from kit.publisher import BusError, Outgoing
from kit.telemetry import Telemetry
from services.commands.dead import for_each
from tests.support.consumers import has_left
from tests.support.servers import nats_server
from tests.support.system import until

WORK = replace(VERIFIER_OBSERVATION_RECEIVED, slots=1, attempts=1)
OTHER = replace(WORK, service="ingest")
"""Another consumer of the same fact."""


class Moody:
    """A handler that refuses, fails, or does its work, as it is told."""

    def __init__(self, error: Exception | None) -> None:
        self.error = error
        self.made: list[UUID] = []

    async def handle(self, event: ObservationReceived, delivery_count: int) -> AsyncIterator[Event]:
        self.made.append(event.observation.observation_id)
        if self.error is not None:
            raise self.error
        yield CanonicalUnavailable(observation=event.observation, reason="test")


@pytest.fixture
async def bus(tmp_path: Path) -> AsyncIterator[Bus]:
    with nats_server(tmp_path) as server:
        async with connect(server.endpoints.nats_url, name="test") as connected:
            await topology.apply(connected)
            for stream, twin in ((ERRATA, False), (REDELIVERY, True)):
                await connected.jetstream.add_consumer(stream.name, topology.consumer_config(OTHER, is_redelivery=twin))
            yield connected


@asynccontextmanager
async def working(bus: Bus, handler: Moody, other: Moody, limit: StopLimit | None = None) -> AsyncIterator[None]:
    assert bus.client.connected_url is not None
    url = bus.client.connected_url.geturl()
    async with connect(url, name="worker") as own:
        delivery = Delivery(own, Telemetry(), limit=limit)
        delivery.subscribe(WORK, handler.handle)
        delivery.subscribe(OTHER, other.handle)
        await delivery.start()
        yield


async def publish(bus: Bus, number: int = 1) -> list[UUID]:
    ids = [uuid4() for _ in range(number)]
    for id_ in ids:
        post = PostRef(platform="X", external_id="1")
        seen = Observation(observation_id=id_, post=post, url="https://x.com/a/status/1")
        await bus.publish(ObservationReceived(observation=seen), correlation=uuid4())
    return ids


async def lying(bus: Bus) -> list[dead_letters.StoredDeadLetter]:
    return [kept async for kept in dead_letters.read_all(bus)]


async def test_a_letter_goes_back_to_its_consumer_and_to_nobody_else(bus: Bus) -> None:
    moody, other = Moody(Reject("not today")), Moody(None)
    async with working(bus, moody, other):
        (seen,) = await publish(bus)
        (kept,) = await until(lambda: lying(bus), "a letter lies")
        assert (kept.dead_letter.consumer, kept.dead_letter.reason) == (WORK.name, "not today")
        assert (kept.dead_letter.origin.stream, kept.dead_letter.origin.sequence) == (ERRATA.name, 1)
        assert (await dead_letters.read(bus, kept.number)) == kept
        assert (await dead_letters.count_by_consumer(bus))[WORK.name] == 1

        await dead_letters.requeue(bus, kept)  # still in a bad mood: it dies again, though only moments later
        (second,) = await until(lambda: newer(bus, kept), "it lies again")
        assert second.dead_letter == kept.dead_letter
        moody.error = None
        await dead_letters.requeue(bus, second)

        async def done() -> bool:
            state = (await bus.jetstream.stream_info(REDELIVERY.name)).state
            return state.messages == 0 and state.last_seq == 2 and len(moody.made) == 3 and len(other.made) > 0

        await until(done, "it was handled")
        assert await lying(bus) == []
    assert set(moody.made) == {seen}
    assert other.made == [seen]
    assert (await bus.jetstream.stream_info(ERRATA.name)).state.messages == 2, "both told the same fact"


async def test_each_consumer_that_refuses_a_fact_has_a_letter_of_its_own(bus: Bus) -> None:
    async with working(bus, Moody(Reject("not today")), Moody(Reject("not here"))):
        await publish(bus)

        async def both() -> bool:
            return {kept.dead_letter.consumer for kept in await lying(bus)} == {WORK.name, OTHER.name}

        await until(both, "both letters lie")


async def test_an_erased_fact_leaves_no_copy_and_others_keep_theirs(bus: Bus) -> None:
    async with working(bus, Moody(Reject("not today")), Moody(None)):
        await publish(bus, 2)

        async def both() -> list[dead_letters.StoredDeadLetter] | None:
            found = await lying(bus)
            return found if len(found) == 2 else None

        for letter in await until(both, "both are dead letters"):
            again = replace(WORK, service="selector")  # which takes no such fact, so that it stays where it is
            await dead_letters.redeliver(bus, again, letter.dead_letter.origin, letter.body, f"again:{letter.number}")
    for stream in (DEAD, REDELIVERY):
        assert (await bus.jetstream.stream_info(stream.name)).state.messages == 2
    for _ in range(2):
        await erase_messages(bus, ERRATA.name, [1])
    assert [letter.dead_letter.origin.sequence for letter in await lying(bus)] == [2]
    state = (await bus.jetstream.stream_info(REDELIVERY.name)).state
    kept = await bus.jetstream.get_msg(REDELIVERY.name, state.last_seq)
    assert (state.messages, (kept.headers or {})[dead_letters.SEQUENCE]) == (1, "2")
    with pytest.raises(nats.js.errors.NotFoundError):
        await bus.jetstream.get_msg(ERRATA.name, 1)
    assert (await bus.jetstream.get_msg(ERRATA.name, 2)).seq == 2


async def test_a_fact_that_is_erased_is_gone_before_its_copies_are_looked_for(
    bus: Bus, monkeypatch: pytest.MonkeyPatch
) -> None:
    await publish(bus)

    async def read_all(bus: Bus) -> AsyncIterator[dead_letters.StoredDeadLetter]:
        with pytest.raises(nats.js.errors.NotFoundError):
            await bus.jetstream.get_msg(ERRATA.name, 1)
        for letter in await lying(bus):
            yield letter

    monkeypatch.setattr("kit.erase.dead_letters", SimpleNamespace(**vars(dead_letters) | {"read_all": read_all}))
    await erase_messages(bus, ERRATA.name, [1])


async def test_copies_of_a_fact_at_the_same_place_of_another_stream_stay(bus: Bus) -> None:
    origin = Origin(JOBS.name, 1, "errata.v1.flag.raised.x")
    letter = DeadLetter(CURATOR_FLAG_RAISED.name, "not today", origin, 1)
    await bus.wait_for_receipt(
        await bus.send(Outgoing(f"errata.dead.{letter.consumer}", b"{}", letter.headers("letter")))
    )
    await dead_letters.redeliver(bus, CURATOR_FLAG_RAISED, origin, b"{}", "again")
    await publish(bus)
    await erase_messages(bus, ERRATA.name, [1])
    assert [each.dead_letter for each in await lying(bus)] == [letter]
    assert (await bus.jetstream.stream_info(REDELIVERY.name)).state.messages == 1


async def test_what_the_broker_keeps_is_not_said_to_be_erased(bus: Bus, monkeypatch: pytest.MonkeyPatch) -> None:
    await publish(bus)

    async def refuse(*_: object) -> bool:
        raise nats.js.errors.ServerError(code=500, description="no disk")

    with monkeypatch.context() as patch:
        patch.setattr(type(bus.jetstream), "delete_msg", refuse)
        with pytest.raises(BusError, match="could not be deleted: no disk"):
            await erase_messages(bus, ERRATA.name, [1])
    config = (await bus.jetstream.stream_info(ERRATA.name)).config
    await bus.jetstream.update_stream(replace(config, deny_delete=True))
    with pytest.raises(Undeletable):
        await erase_messages(bus, ERRATA.name, [1])


async def test_a_letter_that_could_not_be_redelivered_stays(bus: Bus) -> None:
    async with working(bus, Moody(Reject("not today")), Moody(None)):
        await publish(bus)
        (kept,) = await until(lambda: lying(bus), "a letter lies")
    await bus.jetstream.delete_stream(REDELIVERY.name)
    with pytest.raises(BusError):
        await dead_letters.requeue(bus, kept)
    assert await lying(bus) == [kept]


async def test_the_command_acts_on_the_letters_that_are_named_and_on_no_other(bus: Bus) -> None:
    async with working(bus, Moody(Reject("not today")), Moody(Reject("not here"))):
        await publish(bus)

        async def both() -> list[dead_letters.StoredDeadLetter] | None:
            found = await lying(bus)
            return found if len(found) == 2 else None

        letters = await until(both, "both letters lie")
    one = letters[0].number
    for numbers, every, consumer in (((), False, None), ((one,), True, None), ((one,), False, OTHER.name)):
        with pytest.raises(click.UsageError):
            await for_each(bus, dead_letters.delete, numbers, every, consumer)
    assert await lying(bus) == letters
    assert await for_each(bus, dead_letters.delete, (), True, OTHER.name) == 1
    (left,) = await lying(bus)
    assert left.dead_letter.consumer == WORK.name
    assert await for_each(bus, dead_letters.delete, (left.number,), False, None) == 1
    assert await lying(bus) == []


async def newer(bus: Bus, than: dead_letters.StoredDeadLetter) -> list[dead_letters.StoredDeadLetter]:
    return [kept for kept in await lying(bus) if kept.number > than.number]


async def test_a_dropped_letter_is_gone_and_the_fact_stays(bus: Bus) -> None:
    async with working(bus, Moody(Reject("no")), Moody(None)):
        await publish(bus, 3)

        async def three() -> list[dead_letters.StoredDeadLetter] | None:
            found = await lying(bus)
            return found if len(found) == 3 else None

        first, second, third = await until(three, "three letters lie")
    await dead_letters.delete(bus, second)
    assert await lying(bus) == [first, third]
    assert [kept async for kept in dead_letters.read_all(bus, OTHER.name)] == []
    with pytest.raises(dead_letters.DeadLetterNotFound):
        await dead_letters.read(bus, second.number)
    stranger = replace(first, dead_letter=replace(first.dead_letter, consumer="nobody-knows-it"))
    with pytest.raises(dead_letters.DeadLetterNotFound):
        await dead_letters.requeue(bus, stranger)
    assert (await bus.jetstream.stream_info(DEAD.name)).state.messages == 2


async def test_a_bad_deploy_pauses_its_consumer_for_everybody_until_it_is_resumed(bus: Bus) -> None:
    limit = StopLimit(dead_letters=3, within_s=60, pause_s=600)
    moody, other = Moody(ZeroDivisionError("a bug")), Moody(None)
    async with working(bus, moody, other, limit):
        await publish(bus, 10)

        async def paused() -> bool:
            twin = await bus.jetstream.consumer_info(REDELIVERY.name, WORK.name)
            flow = await measure_flow(bus)
            return bool(twin.paused) and any(each.paused for each in flow.consumers if each.name == WORK.name)

        await until(paused, "the consumer pauses, for redelivered facts too")
        died = len(await lying(bus))
        assert 3 <= died <= 5, "at most what was under way comes on top"
        waiting = {each.name: each.waiting for each in (await measure_flow(bus)).consumers}
        assert waiting[WORK.name] >= 10 - died - 1

        async def others_done() -> bool:
            return len(other.made) == 10

        await until(others_done, "nobody else is held up")
        moody.error = None
        await circuit.resume(bus, WORK)
        for kept in await lying(bus):
            await dead_letters.requeue(bus, kept)

        async def all_done() -> bool:
            flow = {each.name: each for each in (await measure_flow(bus)).consumers}[WORK.name]
            return (flow.waiting, flow.in_hand, flow.again, flow.dead) == (0, 0, 0, 0)

        await until(all_done, "everything is handled")
    assert len(set(moody.made)) == 10


async def test_what_a_handler_refuses_on_purpose_stops_nobody(bus: Bus) -> None:
    async with working(bus, Moody(Reject("nonsense")), Moody(None), StopLimit(dead_letters=2)):
        await publish(bus, 8)

        async def all_buried() -> bool:
            return len(await lying(bus)) == 8

        await until(all_buried, "all are buried")
        assert not any(each.paused for each in (await measure_flow(bus)).consumers)


@pytest.mark.requirement("FH-167")
async def test_a_bug_in_handling_an_audit_is_located_and_its_message_withheld(bus: Bus) -> None:
    """FH-167: Facts hold no words."""

    async def fail(event: JobEnded, delivery_count: int) -> AsyncIterator[Event]:
        raise KeyError("a sentence of the article")
        yield event

    delivery = Delivery(bus, Telemetry())
    delivery.subscribe(replace(CURATOR_JOB_ENDED, attempts=1), fail)
    await bus.publish(JobEnded(job_id=uuid4(), outcome="CANCELED", charged_micro_usd=0), correlation=uuid4())
    with capture_logs() as logs:
        await delivery.start()
        (kept,) = await until(lambda: lying(bus), "a letter lies")
    (failed,) = [each for each in logs if each["event"] == "handler failed"]
    assert kept.dead_letter.reason.startswith("KeyError < fail (integration/test_dead.py:")
    assert (failed["error"], failed["at"]) == ("KeyError", kept.dead_letter.reason)
    assert "sentence" not in f"{kept} {logs}"


async def test_the_flow_tells_what_waits_how_long_and_how_fast(bus: Bus) -> None:
    before = await measure_flow(bus)
    assert all((each.waiting, each.oldest_s) == (0, None) for each in before.consumers)
    await publish(bus, 4)
    await until(lambda: has_left(bus, WORK, 4), "all are counted")
    after = await measure_flow(bus)
    by_name = {each.name: each for each in after.consumers}
    assert by_name[WORK.name].waiting == 4
    assert by_name[WORK.name].oldest_s is not None
    assert by_name["validator-claim-proposed"].oldest_s is None
    assert {each.name: each.last for each in after.streams}[ERRATA.name] == 4
    per_s = compute_rates(before, after)
    assert per_s[ERRATA.name] == pytest.approx(4 / (after.at - before.at).total_seconds())
    assert compute_rates(after, after)[ERRATA.name] == 0.0
