"""The curator over real servers: overdue jobs, the sweep, and webhooks as a receiver gets them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from contracts.jobs.ids import format_job_id
from contracts.jobs.words import RequestWords
from contracts.topology import CURATOR_JOB_ENDED, CURATOR_OVERDUE, CURATOR_OVERDUE_MARK, DEAD, JOBS
from contracts.v1 import ClaimHeld, ClaimHoldEnded, CreditPosted, Event, JobEnded, JobRequested, RetentionPurged
from contracts.v1.parts import EphemeralRef
from kit.bus import Bus, connect
from kit.cancelling import cancel_and_wait
from kit.clock import SystemClock
from kit.concluding import Concluder
from kit.database import Database, migrate
from kit.delivery import Delivery
from kit.embedded import EmbeddedStack
from kit.ephemeral import EphemeralTexts, TextBucket
from kit.history import read_history, read_latest
from kit.publisher import BusError
from kit.telemetry import Telemetry
from kit.vault import MasterKey
from kit.web import GuardedHttpClient
from kit.webhooks import Webhooks as Sender
from kit.webhooks import webhook_policy
from services.commands.account_rows import add_account, rotate_secret
from services.curator import domain
from services.curator.adapters import EventLog, HeldClaims, SqlSecrets
from services.curator.handlers import Webhooks
from services.curator.overdue import Deadlines
from services.curator.sweep import Sweep
from tests.integration.test_audit_conclude import folding
from tests.support.audits import asked, reserved
from tests.support.certificates import certificate_for
from tests.support.concluding_jobs import Texts
from tests.support.consumers import have_handled_all
from tests.support.curating import HOOK, SECRET, Metrics, is_signed
from tests.support.diverted import Diverted, resolver
from tests.support.factories import NOW
from tests.support.fakes import StillClock
from tests.support.public_record import MOON
from tests.support.servers import Prepare
from tests.support.sites import Answer, Seen, Sites
from tests.support.system import until

pytest_plugins = ["tests.support.delivering", "tests.support.servers"]

JOB, LATER = UUID(int=1), UUID(int=2)
WAITS_S = (0, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2)
"""The schedule of the tries, made fast."""


def migrated(url: str) -> None:
    asyncio.run(migrate(url))


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return migrated


@asynccontextmanager
async def deadlines(url: str, clock: StillClock, metrics: Metrics) -> AsyncIterator[Deadlines]:
    """A curator that folds deadlines; it ticks when the test says so."""
    async with connect(url, name="curator") as bus:
        found = Deadlines(EventLog(bus), metrics, clock)
        fold = asyncio.create_task(Concluder(bus, JOBS, CURATOR_OVERDUE, CURATOR_OVERDUE_MARK, found, found).run())
        try:
            yield found
        finally:
            await cancel_and_wait([fold])


async def ends(bus: Bus, job: UUID) -> list[JobEnded]:
    found = [each.event for each in await read_history(bus, str(job), stream=JOBS)]
    return [each for each in found if isinstance(each, JobEnded)]


@pytest.mark.requirement("FH-171")
async def test_an_overdue_job_ends_once_and_its_credit_is_released(bus: Bus, server: EmbeddedStack) -> None:
    """FH-171: Overdue jobs fail and release their credit.

    No auditor works on it; two curators look at once, and their folds close it when one of them lives again.
    """
    url, metrics, clock = server.endpoints.nats_url, Metrics(), StillClock(asked(JOB).deadline_at)
    later = asked(LATER, cache_only=True).model_copy(update={"deadline_at": clock.time + timedelta(minutes=1)})
    for event in (reserved(JOB), asked(JOB), later):
        await bus.publish(event, correlation=uuid4())
    async with AsyncExitStack() as stack:
        curators = [await stack.enter_async_context(deadlines(url, clock, metrics)) for _ in range(2)]

        async def ended() -> bool:
            await asyncio.gather(*(each.end_overdue() for each in curators))
            return bool(await ends(bus, JOB))

        await until(ended, "the job has ended")
        await asyncio.gather(*(each.end_overdue() for each in curators))
    assert [(each.outcome, each.code) for each in await ends(bus, JOB)] == [("FAILED", "DEADLINE_EXCEEDED")]
    assert await ends(bus, LATER) == []

    async def released() -> bool:
        (newest,) = await read_latest(bus, reserved(JOB).subject(), stream=JOBS)
        return isinstance(newest.event, CreditPosted) and newest.event.entry == "RELEASED"

    async with folding(url, Texts()):
        await until(released, "the reservation is released")


async def test_a_hold_of_an_earlier_round_decides_nothing_of_a_later_one(bus: Bus) -> None:
    approval = MOON.approved(0)
    held = ClaimHeld(
        investigation_id=approval.investigation_id, claim_id=approval.claim_id, approval=approval, held_at=NOW
    )
    ended = ClaimHoldEnded(
        investigation_id=held.investigation_id, claim_id=held.claim_id, round=1, follows=0, state="RELEASED"
    )
    assert await HeldClaims(bus).find_end(held) == (None, 0)
    sequence = (await bus.publish(ended, correlation=uuid4())).sequence
    assert await HeldClaims(bus).find_end(held) == (ended, sequence)
    later = held.model_copy(update={"round": 2})
    assert await HeldClaims(bus).find_end(later) == (None, sequence)


class Away(EventLog):
    """A broker that takes nothing."""

    async def publish(self, event: Event, correlation: UUID) -> bool:
        raise BusError("away")


@pytest.mark.requirement("FH-176")
async def test_two_sweeps_leave_what_has_not_expired(bus: Bus) -> None:
    """FH-176: Words with an expiry are in no backup.

    The fact is stored before the first text goes.
    """
    clock, metrics = StillClock(datetime.now(UTC).replace(minute=34)), Metrics()
    store = TextBucket(bus)
    texts = EphemeralTexts(store, clock)
    refs = [await texts.put(f"{hours} hours", clock.time + timedelta(hours=hours)) for hours in range(-2, 3)]

    async def lies(ref: EphemeralRef) -> bool:
        return await store.get(ref.name) is not None

    with pytest.raises(BusError):
        await Sweep(Away(bus), texts, metrics, clock).run_once()
    sweeps = [Sweep(EventLog(bus), texts, metrics, clock) for _ in range(2)]
    assert all([await lies(ref) for ref in refs])
    await asyncio.gather(*(each.run_once() for each in sweeps))
    assert [await lies(ref) for ref in refs] == [False, False, True, True, True]
    (fact,) = await read_latest(bus, f"{RetentionPurged.SUBJECT}.{clock.time:%Y-%m-%dT%H}", stream=JOBS)
    assert isinstance(fact.event, RetentionPurged)
    assert fact.event.before == clock.time.replace(minute=0, second=0, microsecond=0)


class Account:
    """An account with a secret, a job with a webhook, and the curator that sends it to a stand-in for its server."""

    def __init__(self, bus: Bus, secrets: SqlSecrets, request: JobRequested, url: str) -> None:
        self.bus = bus
        self.secrets = secrets
        self.request = request
        self.words = RequestWords(text="So they say.", webhook_url=url).model_dump_json()
        self.metrics = Metrics()

    async def get(self, ref: EphemeralRef) -> str:
        return self.words

    async def remove(self, ref: EphemeralRef) -> None:
        raise AssertionError(ref)

    async def sweep(self, before: datetime) -> int:
        raise AssertionError(before)

    @asynccontextmanager
    async def sending(self, http: GuardedHttpClient) -> AsyncIterator[None]:
        """The job ends, and its webhook is under way."""
        await self.bus.publish(self.request, correlation=uuid4())
        end = JobEnded(job_id=self.request.job_id, outcome="FAILED", code="INTERNAL", charged_micro_usd=0)
        await self.bus.publish(end, correlation=uuid4())
        delivery = Delivery(self.bus, Telemetry())
        hooks = Webhooks(EventLog(self.bus), self, self.secrets, Sender(http), self.metrics, SystemClock())
        delivery.subscribe(CURATOR_JOB_ENDED, hooks.on_job_ended, slots=1)
        await delivery.start()
        yield

    async def settled(self) -> None:
        """All tries are made and the message is acknowledged; it is no dead letter."""
        await until(lambda: have_handled_all(self.bus, CURATOR_JOB_ENDED), "the webhook is settled")
        assert (await self.bus.jetstream.stream_info(DEAD.name)).state.messages == 0


@pytest.fixture
async def account(
    bus: Bus, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Callable[..., Account]]:
    monkeypatch.setattr(domain, "WAITS_S", WAITS_S)
    monkeypatch.setattr(domain, "_EARLY_S", 0.02)
    operator, curator = Database(database_url, role="operator"), Database(database_url, role="curator")
    master = MasterKey.generate()
    owner = await add_account(operator, "alice", None, "reader", "free", None)
    await rotate_secret(operator, "alice", MasterKey.generate(), SECRET)  # which was lost since
    await rotate_secret(operator, "alice", master, SECRET)
    request = asked(JOB, cache_only=True).model_copy(update={"account_id": owner, "has_webhook": True})
    yield lambda url=HOOK: Account(bus, SqlSecrets(curator, (master,)), request, url)
    await operator.close()
    await curator.close()


@pytest.mark.requirement("FH-159")
async def test_a_webhook_is_repeated_until_it_is_received(account: Callable[..., Account], tmp_path: Path) -> None:
    """FH-159: A webhook is sent once, signed, and repeated until it is received.

    First the connection is refused, then the receiver fails, then it takes the message: the same one each time.
    """
    server, client = certificate_for(["hooks.example"], tmp_path)
    resolve, _ = resolver(["9.9.9.9"], ["8.8.8.8"])
    answers = iter([500, 204, 500])

    def answer(seen: Seen) -> Answer:
        return Answer(next(answers), {}, b"")

    one = account()
    async with Sites(tls=server) as sites:
        sites.pages["/audits"] = answer
        network = Diverted(sites.port, refusing=["9.9.9.9"])
        policy = webhook_policy("")
        async with (
            GuardedHttpClient(policy, resolve=resolve, network=network, tls=client) as http,
            one.sending(http),
        ):
            await one.settled()
        assert one.metrics.webhooks == ["failed", "failed", "delivered"]
        assert [each.body for each in sites.requests] == [sites.requests[0].body] * 2
        assert json.loads(sites.requests[0].body)["type"] == "job.failed"
        assert json.loads(sites.requests[0].body)["data"] == {"job_id": format_job_id(JOB)}
        assert len({each.headers["webhook-id"] for each in sites.requests}) == 1
        assert all(is_signed(each.headers, each.body, SECRET) for each in sites.requests)
        other = SECRET[:-3] + "EA="
        assert not any(is_signed(each.headers, each.body, other) for each in sites.requests)


@pytest.mark.requirement("FH-160")
@pytest.mark.parametrize("exempt", [False, True], ids=["as a rule", "exempted by a setting"])
async def test_a_receiver_at_a_private_address_gets_nothing(
    exempt: bool, account: Callable[..., Account], tmp_path: Path
) -> None:
    """FH-160: Webhooks go to public addresses only."""
    server, client = certificate_for(["localhost"], tmp_path)
    async with Sites(tls=server) as sites:
        sites.pages["/audits"] = Answer(204, {}, b"")
        origin = f"https://localhost:{sites.port}"
        one = account(f"{origin}/audits")
        policy = replace(webhook_policy(""), exempt_origins=frozenset({origin} if exempt else ()))
        async with GuardedHttpClient(policy, tls=client) as http, one.sending(http):
            await one.settled()
        assert one.metrics.webhooks == (["delivered"] if exempt else ["failed"] * 7)
        assert len(sites.requests) == exempt
