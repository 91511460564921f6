"""Requests for runs on real servers: failures that may be repeated, keys that stay where they belong, and races."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from uuid import UUID

import pytest

from contracts.topology import USER_KEYS
from contracts.v1 import InvestigationFailed, InvestigationRequested
from contracts.v1.ids import investigation_id
from contracts.v1.investigation import Fault
from kit.history import read_history
from kit.kv import Bucket
from services.gateway.adapters import BusFacts
from tests.integration.readmodel_tables import owner
from tests.support.gateway import INVESTIGATE, Running, add_key, migrated, serving, started
from tests.support.servers import Prepare
from tests.support.system import until
from tests.unit.gateway.fakes import USER_KEY, data, post_on_x

pytest_plugins = ["tests.support.servers"]

OTHER_KEY = "sk-zyxwvutsrqponmlkjihgfedcba"
MEMBER = "instance-key"


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return migrated


@pytest.fixture
async def eager(nats_url: str, database_url: str) -> AsyncIterator[Running]:
    """A gateway that lets a failed run be asked for again at once, twice a day."""
    await add_key(database_url, MEMBER)
    async with serving(nats_url, database_url, retry_cooldown_s=0, retries_per_day=2) as running:
        yield running


async def ask(running: Running, version: UUID, **headers: str) -> str:
    """Ask for an investigation; its status."""
    answer = data(INVESTIGATE, await running.mutate(INVESTIGATE, {"postVersionId": str(version)}, **headers))
    status: str = answer["status"]
    return status


async def requests(running: Running, version: UUID) -> list[InvestigationRequested]:
    """Every request for the version that the log holds."""
    facts = await read_history(running.host.bus, str(investigation_id(version, "FACT_CHECK")))
    return [past.envelope.event for past in facts if isinstance(past.envelope.event, InvestigationRequested)]


async def fail(running: Running, version: UUID, fault: Fault = "RUN") -> None:
    """Let the newest round fail, and wait until the gateway knows."""
    run = investigation_id(version, "FACT_CHECK")
    facts = await read_history(running.host.bus, str(run))
    ends = [past.sequence for past in facts if isinstance(past.envelope.event, InvestigationFailed)]
    round_ = (await requests(running, version))[-1].round
    failed = InvestigationFailed(
        follows=max(ends, default=0),
        investigation_id=run,
        version_id=version,
        attempt=0,
        round=round_,
        failure="NON_RETRYABLE",
        fault=fault,
        reason="it did not work",
    )
    receipt = await running.host.bus.publish(failed, correlation=running.host.clock.new_id())

    async def known() -> bool:
        async with running.host.database("reader").connect() as db:
            position = await db.exec_driver_sql("SELECT sequence FROM position WHERE stream = 'ERRATA'")
            return bool((position.scalar() or 0) >= receipt.sequence)

    await until(known, "the failure is in the read model")


async def kept(running: Running, version: UUID) -> str | None:
    """The key that lies ready for the version's run."""
    asked = (await requests(running, version))[-1]
    try:
        return await running.host.user_keys.open(asked.investigation_id, asked.attachment)
    except LookupError:
        return None


async def expire(running: Running, version: UUID) -> None:
    """Let that key be gone, as after half an hour."""
    asked = (await requests(running, version))[-1]
    await running.host.user_keys.discard(asked.investigation_id, asked.attachment)


@pytest.mark.requirement("2.6-14", "3.7-09", "2.12-04")
async def test_a_failed_run_is_repeated_as_a_new_round_and_only_so_often(eager: Running) -> None:
    """2.6-14: FAILED is returned unless somebody retries explicitly.
    3.7-09: FAILED is final.
    2.12-04: Each attempt is recorded: tools, answers, citations, reasoning, usage, errors.
    """
    version = await eager.version(post_on_x())
    assert await ask(eager, version, x_api_key=MEMBER) == "PENDING"
    for _ in range(2):
        await fail(eager, version)
        assert await ask(eager, version, x_api_key=MEMBER) == "PENDING"
    await fail(eager, version)
    assert await ask(eager, version, x_api_key=MEMBER) == "FAILED"
    assert [event.round for event in await requests(eager, version)] == [1, 2, 3]


@pytest.mark.requirement("2.6-14")
@pytest.mark.parametrize(("hours", "status"), [(23, "FAILED"), (25, "PENDING")])
async def test_repetitions_are_given_anew_after_a_day(
    eager: Running, database_url: str, hours: int, status: str
) -> None:
    """2.6-14: FAILED is returned unless somebody retries explicitly."""
    version = await eager.version(post_on_x())
    await ask(eager, version, x_api_key=MEMBER)
    for _ in range(2):
        await fail(eager, version)
        await ask(eager, version, x_api_key=MEMBER)
    await fail(eager, version)
    async with await owner(database_url) as db:
        moved = await db.execute(
            "UPDATE investigation_round SET requested_at = requested_at - make_interval(hours => %s)"
            " WHERE investigation_id = %s",
            (hours, investigation_id(version, "FACT_CHECK")),
        )
    assert moved.rowcount == 3
    assert await ask(eager, version, x_api_key=MEMBER) == status


@pytest.mark.requirement("3.7-07")
@pytest.mark.parametrize(("fault", "often"), [("USER_KEY", 4), ("RUN", 3)])
async def test_what_fails_on_readers_accounts_uses_up_none_of_the_instances_repetitions(
    eager: Running, fault: Fault, often: int
) -> None:
    """Bad keys count for nobody; other failures of runs that readers paid for count for readers.

    3.7-07: A reader's key that is gone fails the run.
    """
    version = await eager.version(post_on_x())
    for _ in range(often):
        assert await ask(eager, version, x_openai_api_key=USER_KEY) == "PENDING"
        await expire(eager, version)
        await fail(eager, version, fault)
    if fault == "RUN":
        assert await ask(eager, version, x_openai_api_key=USER_KEY) == "FAILED"
    for _ in range(3):
        assert await ask(eager, version, x_api_key=MEMBER) == "PENDING"
        await fail(eager, version)
    assert await ask(eager, version, x_api_key=MEMBER) == "FAILED"
    assert [event.key_source for event in await requests(eager, version)] == ["USER"] * often + ["INSTANCE"] * 3


@pytest.mark.requirement("2.6-12", "2.6-15", "2.8-01", "3.5-03")
async def test_many_who_ask_again_at_once_are_one_round(eager: Running) -> None:
    """2.6-12: Requests at once make one investigation.
    2.6-15: A request during a run starts no second one.
    2.8-01: One investigation for a post's version.
    3.5-03: Registrations at once make one version.
    """
    version = await eager.version(post_on_x())
    await ask(eager, version, x_api_key=MEMBER)
    await fail(eager, version)
    statuses = await asyncio.gather(*(ask(eager, version, x_api_key=MEMBER) for _ in range(20)))
    assert set(statuses) == {"PENDING"}
    assert [(event.round, event.follows > 0) for event in await requests(eager, version)] == [(1, False), (2, True)]


@pytest.mark.requirement("2.6-15", "2.6-16")
async def test_whoever_is_faster_pays_and_no_key_is_left_with_a_run_of_the_instance(eager: Running) -> None:
    """2.6-15: A request during a run starts no second one.
    2.6-16: A pending run takes the first key that comes.
    """
    for number in range(12):
        version = await eager.version(post_on_x(observedContentText=f"Alpha beta {number}"))
        by_key = [ask(eager, version, x_openai_api_key=key) for key in (USER_KEY, OTHER_KEY)]
        by_member = ask(eager, version, x_api_key=MEMBER)
        await asyncio.gather(*((*by_key, by_member) if number % 2 else (by_member, *by_key)))
        (event,) = await requests(eager, version)
        key = await kept(eager, version)
        assert (key in (USER_KEY, OTHER_KEY)) if event.key_source == "USER" else key is None


@pytest.mark.requirement("2.6-16", "2.6-17")
async def test_the_first_key_wins_and_none_is_taken_once_the_run_has_begun(eager: Running) -> None:
    """2.6-16: A pending run takes the first key that comes.
    2.6-17: The key of a run under way does not change.
    """
    version = await eager.version(post_on_x())
    run = investigation_id(version, "FACT_CHECK")
    for key in (USER_KEY, OTHER_KEY):
        assert await ask(eager, version, x_openai_api_key=key) == "PENDING"
        assert await kept(eager, version) == USER_KEY
    await expire(eager, version)
    assert await ask(eager, version, x_openai_api_key=OTHER_KEY) == "PENDING"
    assert await kept(eager, version) == OTHER_KEY, "a waiting run whose key expired takes the next one"
    await expire(eager, version)
    await eager.tell(started(run, version))

    async def begun() -> bool:
        return await ask(eager, version, x_api_key=MEMBER) == "PROCESSING"

    await until(begun, "the run has begun")
    assert await ask(eager, version, x_openai_api_key=USER_KEY) == "PROCESSING"
    assert await kept(eager, version) is None


@pytest.mark.requirement("2.6-16", "3.2-14")
async def test_a_key_that_a_crash_left_without_its_request_pays_for_nobodys_run(eager: Running) -> None:
    """A gateway keeps the key, and dies before it asks for the run.

    2.6-16: A pending run takes the first key that comes.
    3.2-14: Claims have ≥1 source.
    """
    version = await eager.version(post_on_x())
    run, left = investigation_id(version, "FACT_CHECK"), eager.host.clock.new_id()
    assert await eager.host.user_keys.attach(run, left, USER_KEY)
    assert await ask(eager, version, x_openai_api_key=OTHER_KEY) == "PENDING"
    assert await kept(eager, version) == OTHER_KEY
    assert (await requests(eager, version))[0].attachment != left


@pytest.mark.requirement("2.6-15")
async def test_a_run_of_the_instance_takes_no_key_while_it_waits(
    eager: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """2.6-15: A request during a run starts no second one. The log is not read for what the row says."""
    version = await eager.version(post_on_x())
    await ask(eager, version, x_api_key=MEMBER)

    async def requested(*_: object) -> InvestigationRequested:
        pytest.fail("who keeps asking with a key would have the log read each time")

    monkeypatch.setattr(BusFacts, "latest_request", requested)
    assert await ask(eager, version, x_openai_api_key=USER_KEY) == "PENDING"
    assert await kept(eager, version) is None


@pytest.mark.requirement("2.13-10", "3.2-14")
async def test_a_key_lies_sealed_and_for_half_an_hour(eager: Running) -> None:
    """2.13-10: Plaintext keys never in logs.
    3.2-14: Claims have ≥1 source.
    """
    version = await eager.version(post_on_x())
    await ask(eager, version, x_openai_api_key=USER_KEY)
    (asked,) = await requests(eager, version)
    bucket = await Bucket.open(eager.host.bus, USER_KEYS)
    sealed = await bucket.get(f"{asked.investigation_id}.{asked.attachment}")
    assert sealed is not None
    assert USER_KEY.encode() not in sealed
    status = await (await eager.host.bus.jetstream.key_value(USER_KEYS.name)).status()
    assert status.ttl == 30 * 60
