"""The fold that concludes lives and dies as one: without its mark it would not go on in silence."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID, uuid4

import pytest
from prometheus_client import CollectorRegistry

from contracts.topology import CONCLUDE_MARK, CONCLUDED, ERRATA, MARKS
from contracts.v1 import Event, InvestigationCompleted, InvestigationFailed, InvestigationRequested
from kit import topology
from kit.bus import Bus, connect
from kit.cancelling import cancel_and_wait
from kit.clock import SystemClock
from kit.concluding import CHECK_AFTER_S, Concluder
from kit.errors import Outage
from kit.history import StoredFact, read_latest
from kit.kv import Bucket
from kit.publisher import PublishConflict, Receipt
from kit.vault import MasterKey, UserKeys
from lifecycle.investigation import Investigation
from services.investigator.concluding import InvestigationRules
from services.investigator.waiting import OpenInvestigations
from tests.support.factories import INVESTIGATION_ID, drafted, failed, requested, started
from tests.support.system import until

KEY = "sk-" + "a" * 40
ATTACHMENT = UUID(int=7)
BATCH = 500
"""What the fold reads at once, at most."""


def fold(bus: Bus, keys: UserKeys, waiting: OpenInvestigations) -> Concluder[Investigation]:
    """The fold as the investigator runs it."""
    return Concluder(bus, ERRATA, CONCLUDED, CONCLUDE_MARK, InvestigationRules(bus, keys), waiting)


class Broken(UserKeys):
    """A bug, as far as the concluder is concerned."""

    async def discard(self, investigation: UUID, attachment: UUID | None) -> None:
        raise ZeroDivisionError


async def test_a_bug_while_the_mark_is_kept_ends_the_fold_so_that_it_is_seen(nats_url: str) -> None:
    async with connect(nats_url, name="test") as bus:
        await topology.apply(bus)
        # A request that the log holds after its end: the fold opens it, and whoever keeps the mark closes it.
        await bus.publish(failed(), correlation=uuid4())
        await bus.publish(requested(key_source="USER"), correlation=uuid4())
        waiting = OpenInvestigations(CollectorRegistry(), SystemClock().now)
        with pytest.raises(ZeroDivisionError):
            await asyncio.wait_for(fold(bus, Broken(bus, ()), waiting).run(), CHECK_AFTER_S * 4)


class Late(InvestigationRules):
    """The log answers whether an investigation is over when the fold has just closed it."""

    def __init__(self, bus: Bus) -> None:
        super().__init__(bus, UserKeys(bus, ()))
        self.asked, self.closed = asyncio.Event(), asyncio.Event()

    async def is_over_in_log(self, key: str, aggregate: Investigation) -> bool:
        self.asked.set()
        await self.closed.wait()
        return True

    async def close(self, key: str, aggregate: Investigation) -> None:
        await super().close(key, aggregate)
        self.closed.set()


async def test_what_the_fold_closes_while_the_log_is_asked_about_it_is_closed_once(nats_url: str) -> None:
    async with connect(nats_url, name="test") as bus:
        await topology.apply(bus)
        rules, waiting = Late(bus), OpenInvestigations(CollectorRegistry(), SystemClock().now)
        folding = asyncio.create_task(Concluder(bus, ERRATA, CONCLUDED, CONCLUDE_MARK, rules, waiting).run())
        await bus.publish(requested(), correlation=uuid4())
        await asyncio.wait_for(rules.asked.wait(), CHECK_AFTER_S * 4)
        last = (await bus.publish(failed(), correlation=uuid4())).sequence
        marks = await Bucket.open(bus, MARKS)

        async def passed() -> bool:
            return folding.done() or int(await marks.get(CONCLUDE_MARK) or b"0") >= last

        await until(passed, "the mark passes its end")
        assert not folding.done(), "the fold goes on"
        await cancel_and_wait([folding])


class Unread(InvestigationRules):
    """The log does not answer when the history of a later round is asked for, and the mark is kept meanwhile."""

    def __init__(self, bus: Bus, marks: Bucket) -> None:
        super().__init__(bus, UserKeys(bus, ()))
        self._marks = marks

    async def open(self, fact: StoredFact) -> Investigation | None:
        if not isinstance(fact.event, InvestigationRequested):
            return None
        for _ in range(BATCH):
            await asyncio.sleep(0)
        await self._marks.get(CONCLUDE_MARK)  # behind whatever was stored until now
        raise Outage(1.0, "no answer")


async def test_the_mark_does_not_pass_a_request_whose_history_cannot_be_read(
    nats_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the fold that starts again would not read it, and its investigation would never end."""
    monkeypatch.setattr("kit.concluding.MARK_EVERY_S", 0.0)
    async with connect(nats_url, name="test") as bus:
        await topology.apply(bus)
        before = await bus.publish(failed(), correlation=uuid4())
        await bus.publish(requested(round=2), correlation=uuid4())
        marks = await Bucket.open(bus, MARKS)
        waiting = OpenInvestigations(CollectorRegistry(), SystemClock().now)
        folding = Concluder(bus, ERRATA, CONCLUDED, CONCLUDE_MARK, Unread(bus, marks), waiting)
        with pytest.raises(Outage):
            await folding.run()
        assert int(await marks.get(CONCLUDE_MARK) or b"0") <= before.sequence


async def test_a_history_that_cannot_be_read_holds_up_no_other_investigation(nats_url: str) -> None:
    async with connect(nats_url, name="test") as bus:
        await topology.apply(bus)
        broken = uuid4()
        await bus.jetstream.publish(f"{InvestigationFailed.SUBJECT}.{broken}", b"undecodable")
        for event in (requested(investigation_id=broken, round=2), requested(), started(), drafted()):
            await bus.publish(event, correlation=uuid4())
        waiting = OpenInvestigations(CollectorRegistry(), SystemClock().now)
        folding = asyncio.create_task(fold(bus, UserKeys(bus, ()), waiting).run())

        async def completed() -> bool:
            if folding.done():
                folding.result()
            return bool(await read_latest(bus, f"{InvestigationCompleted.SUBJECT}.{INVESTIGATION_ID}"))

        try:
            await until(completed, "it is concluded")
        finally:
            await cancel_and_wait([folding])


class Slow(InvestigationRules):
    """Cleaning up takes a while."""

    def __init__(self, bus: Bus) -> None:
        super().__init__(bus, UserKeys(bus, ()))
        self.closing, self.go_on = asyncio.Event(), asyncio.Event()

    async def close(self, key: str, aggregate: Investigation) -> None:
        self.closing.set()
        await self.go_on.wait()


async def test_a_round_that_is_requested_while_the_one_before_is_closed_is_concluded(nats_url: str) -> None:
    async with connect(nats_url, name="test") as bus:
        await topology.apply(bus)
        await bus.publish(failed(), correlation=uuid4())
        first = await bus.publish(requested(), correlation=uuid4())
        rules, registry = Slow(bus), CollectorRegistry()
        waiting = OpenInvestigations(registry, SystemClock().now)
        folding = asyncio.create_task(Concluder(bus, ERRATA, CONCLUDED, CONCLUDE_MARK, rules, waiting).run())
        await asyncio.wait_for(rules.closing.wait(), CHECK_AFTER_S * 4)
        second = await bus.publish(requested(round=2, follows=first.sequence), correlation=uuid4())

        async def folded() -> bool:
            return registry.get_sample_value("openerrata_conclude_position") == second.sequence

        async def completed() -> bool:
            return bool(await read_latest(bus, f"{InvestigationCompleted.SUBJECT}.{INVESTIGATION_ID}"))

        try:
            await until(folded, "the second round is folded")
            rules.go_on.set()
            for event in (started(), drafted()):
                await bus.publish(event, correlation=uuid4())
            await until(completed, "the second round is concluded")
        finally:
            await cancel_and_wait([folding])


async def test_an_end_that_was_refused_and_that_the_log_lacks_is_published_again(
    nats_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cluster that elects a leader may refuse an end because of one that it then loses."""
    refused: list[Event] = []
    publish = Bus.publish

    async def refuse_once(bus: Bus, event: Event, **names: Any) -> Receipt:
        if isinstance(event, InvestigationCompleted) and not refused:
            refused.append(event)
            raise PublishConflict("wrong last sequence")
        return await publish(bus, event, **names)

    async with connect(nats_url, name="test") as bus:
        await topology.apply(bus)
        for event in (requested(), started(), drafted()):
            await bus.publish(event, correlation=uuid4())
        monkeypatch.setattr(Bus, "publish", refuse_once)
        waiting = OpenInvestigations(CollectorRegistry(), SystemClock().now)
        folding = asyncio.create_task(fold(bus, UserKeys(bus, ()), waiting).run())

        async def completed() -> bool:
            return bool(await read_latest(bus, f"{InvestigationCompleted.SUBJECT}.{INVESTIGATION_ID}"))

        try:
            await until(completed, "the investigation is concluded")
        finally:
            await cancel_and_wait([folding])
    assert len(refused) == 1


async def test_a_fold_that_starts_again_concludes_what_was_open(nats_url: str) -> None:
    async with connect(nats_url, name="test") as bus:
        await topology.apply(bus)
        await bus.jetstream.publish(f"{InvestigationCompleted.SUBJECT}.{uuid4()}", b"undecodable")
        before = uuid4()
        await bus.publish(requested(investigation_id=before), correlation=uuid4())
        last = (await bus.publish(failed(investigation_id=before), correlation=uuid4())).sequence
        for event in (requested(), started(), failed(investigation_id=uuid4())):
            await bus.publish(event, correlation=uuid4())
        registry, marks = CollectorRegistry(), await Bucket.open(bus, MARKS)
        waiting = OpenInvestigations(registry, SystemClock().now)
        folding = asyncio.create_task(fold(bus, UserKeys(bus, ()), waiting).run())

        async def marked() -> bool:
            folded = registry.get_sample_value("openerrata_conclude_position") == last + 3
            return folded and int(await marks.get(CONCLUDE_MARK) or b"0") >= last

        async def completed() -> bool:
            return bool(await read_latest(bus, f"{InvestigationCompleted.SUBJECT}.{INVESTIGATION_ID}"))

        await until(marked, "the mark is stored")
        await cancel_and_wait([folding])
        folding = asyncio.create_task(fold(bus, UserKeys(bus, ()), waiting).run())
        await bus.publish(drafted(), correlation=uuid4())
        await until(completed, "it is concluded")
        await cancel_and_wait([folding])


@pytest.mark.requirement("2.12-04")
@pytest.mark.parametrize(
    ("later", "stays"),
    [(None, False), (ATTACHMENT, True), (UUID(int=8), False)],
    ids=["over for good", "taken up again with the same key", "asked for again with another"],
)
async def test_folding_an_old_end_again_leaves_the_key_of_a_later_round(
    nats_url: str, later: UUID | None, stays: bool
) -> None:
    """A mark that lies far back lets old facts be folded again, here in batches that end before the second request.

    2.12-04: Each attempt is recorded: tools, answers, citations, reasoning, usage, errors.
    """
    async with connect(nats_url, name="test") as bus:
        await topology.apply(bus)
        keys = UserKeys(bus, (MasterKey.generate(),))
        asked = requested(key_source="USER", attachment=ATTACHMENT)
        first = await bus.publish(asked, correlation=uuid4())
        await bus.publish(failed(), correlation=uuid4())
        others = [failed(investigation_id=uuid4()) for _ in range(BATCH)]
        await asyncio.gather(*(bus.publish(other, correlation=uuid4()) for other in others))
        if later is not None:
            again = asked.model_copy(update={"round": 2, "follows": first.sequence, "attachment": later})
            await bus.publish(again, correlation=uuid4())
        await keys.attach(INVESTIGATION_ID, ATTACHMENT, KEY)
        registry = CollectorRegistry()
        folding = asyncio.create_task(fold(bus, keys, OpenInvestigations(registry, SystemClock().now)).run())

        async def folded() -> bool:
            return registry.get_sample_value("openerrata_conclude_position") == BATCH + 2 + (later is not None)

        async def gone() -> bool:
            try:
                await keys.open(INVESTIGATION_ID, ATTACHMENT)
            except LookupError:
                return True
            return False

        try:
            await until(folded, "all is folded")
            if stays:
                assert not await gone()
            else:
                await until(gone, "the key is gone")
        finally:
            await cancel_and_wait([folding])
