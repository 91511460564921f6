"""The investigator and the validator are killed at each of their steps; every call to their model costs money.

Whatever the moment: the run ends, it finds each sentence once, and nothing is paid for again whose result is stored,
be it told or only kept where nobody has heard of it.
"""

from __future__ import annotations

import asyncio
import signal
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from itertools import count
from pathlib import Path
from typing import Literal
from uuid import UUID

import pytest
import pytest_asyncio

from contracts.topology import ERRATA, INVESTIGATOR_INVESTIGATION_REQUESTED, VALIDATOR_CLAIM_PROPOSED
from contracts.v1 import (
    ClaimApproved,
    ClaimProposed,
    ClaimRejected,
    ClaimRetained,
    ClaimValidationFailed,
    ClaimValidationRetryScheduled,
    ClaimValidationStarted,
    Event,
    InvestigationAdvanced,
    InvestigationCompleted,
    InvestigationDrafted,
    InvestigationFailed,
    InvestigationRetryScheduled,
    InvestigationStarted,
)
from kit.blob_settings import BlobSettings
from kit.blobs import Blobs
from kit.history import read_history
from tests.chaos.bills import APPROVED, FIRST, OF_AN_UPDATE, SECOND, STEPS, Till, step_of
from tests.chaos.conftest import KEY, disturbed
from tests.e2e.posts import BRAIN, GOLDFISH, WALL, on_wikipedia, on_x
from tests.support.extension_client import Extension
from tests.support.openai_server import HttpError, openai_server
from tests.support.oracle import Oracle, oracle
from tests.support.sites import Answer as PageAnswer
from tests.support.sites import Sites
from tests.support.system import GivenServers, Process, System, system, until
from tests.support.trap import Fate, Trap, acknowledgement, fact

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.xdist_group("chaos-billed")]

Worker = Literal["investigator", "validator"]
REST = ("verifier", "ingest", "projector", "gateway")
STORE = ("ENDPOINT", "ACCESS_KEY", "SECRET_KEY", "BUCKET")
AFTER_ITS_ANSWER: Mapping[type[Event], frozenset[str]] = {
    InvestigationAdvanced: frozenset({FIRST}),
    InvestigationDrafted: frozenset({SECOND}),
    ClaimApproved: STEPS - {FIRST, SECOND},
    ClaimRejected: STEPS - {FIRST, SECOND},
}
FAILING: Mapping[type[Event], tuple[str, list[HttpError]]] = {
    InvestigationRetryScheduled: (SECOND, [HttpError(503)]),
    ClaimValidationRetryScheduled: (f"review: {BRAIN}", [HttpError(503)]),
    InvestigationFailed: (SECOND, [HttpError(400)] * 2),
    ClaimValidationFailed: (f"review: {BRAIN}", [HttpError(400)] * 2),
}
"""What the model answers so that there is something to tell; the second refusal is for whoever asks once more."""
ACK_WAIT_S = "4"
DELAY = timedelta(seconds=10)
"""What a worker waits after a first failure; the broker gives a dead one's work out earlier."""
WITHIN_S = 120.0


@dataclass(frozen=True)
class Published:
    """Killed in the middle of publishing its nth fact of a kind: it is lost, or stored and never confirmed."""

    kind: type[Event]
    fate: Fate
    nth: int = 1

    def __str__(self) -> str:
        return f"{self.kind.__name__}-{self.nth}-{self.fate}"


@dataclass(frozen=True)
class Acknowledged:
    """Killed with everything published, before its nth acknowledgement."""

    nth: int = 1

    def __str__(self) -> str:
        return f"acknowledged-{self.nth}"


@dataclass(frozen=True)
class Asked:
    """Killed as soon as its model has been asked for a step."""

    step: str

    def __str__(self) -> str:
        return f"asked-{self.step}"


Moment = Published | Acknowledged | Asked
Ends = Callable[["World", UUID], Awaitable[None]]
"""Asserts how a run ends."""

OF_THE_INVESTIGATOR: tuple[Moment, ...] = (
    Published(InvestigationStarted, "lost"),
    Published(InvestigationStarted, "stored"),
    Asked(FIRST),
    Published(ClaimProposed, "lost"),
    Published(ClaimProposed, "stored"),
    Published(ClaimProposed, "lost", 4),
    Published(ClaimProposed, "stored", 4),
    Published(InvestigationAdvanced, "lost"),
    Published(InvestigationAdvanced, "stored"),
    Asked(SECOND),
    Published(InvestigationDrafted, "lost"),
    Published(InvestigationDrafted, "stored"),
    Acknowledged(),
    Published(InvestigationCompleted, "lost"),
    Published(InvestigationCompleted, "stored"),
    Published(InvestigationRetryScheduled, "lost"),
    Published(InvestigationRetryScheduled, "stored"),
)
OF_THE_VALIDATOR: tuple[Moment, ...] = (
    Published(ClaimValidationStarted, "lost"),
    Published(ClaimValidationStarted, "stored"),
    Asked(f"review: {BRAIN}"),
    Asked(f"review: {GOLDFISH}"),
    Published(ClaimApproved, "lost"),
    Published(ClaimApproved, "stored"),
    Published(ClaimApproved, "stored", 2),
    Published(ClaimRejected, "lost", 2),
    Published(ClaimRejected, "stored", 2),
    Acknowledged(1),
    Acknowledged(4),
    Published(ClaimValidationRetryScheduled, "lost"),
    Published(ClaimValidationRetryScheduled, "stored"),
)
OF_A_FAILURE: tuple[tuple[Worker, Published], ...] = (
    ("investigator", Published(InvestigationFailed, "lost")),
    ("investigator", Published(InvestigationFailed, "stored")),
    ("validator", Published(ClaimValidationFailed, "lost")),
    ("validator", Published(ClaimValidationFailed, "stored")),
)
OF_AN_UPDATE_RUN: tuple[Published, ...] = (
    Published(ClaimRetained, "lost"),
    Published(ClaimRetained, "stored"),
    Published(ClaimRetained, "stored", 2),
)


@dataclass
class World:
    """The system, with a trap in the line of each worker that is going to be killed."""

    system: System
    sites: Sites
    till: Till
    oracle: Oracle
    blobs: Blobs
    traps: dict[Worker, Trap]
    _lives: count[int] = field(default_factory=lambda: count(1))

    def spawn(self, worker: Worker, name: str = "") -> str:
        """A new worker with a key of its own, so that its bills can be told from those of the dead; the key."""
        key = f"sk-test-{worker}-{next(self._lives):020}"
        settings = {"OPENERRATA_NATS_URL": self.traps[worker].url, "OPENAI_API_KEY": key}
        self.system.spawn(worker, name=name, settings=settings)
        return key

    async def die(self, worker: Worker, moment: Moment, run: UUID) -> None:
        """Wait for the moment, and kill."""
        async with asyncio.timeout(WITHIN_S):
            await (self.till.held if isinstance(moment, Asked) else self.traps[worker].sprung).wait()
        if isinstance(moment, Published) and moment.fate == "stored":
            await until(lambda: self.has(run, moment.kind, moment.nth), "it is stored", within_s=WITHIN_S)
        await self.system.processes[worker].kill()
        self.traps[worker].reset()

    async def kept(self, but: Iterable[str]) -> set[str]:
        """The paid steps whose results lie in the blob store now, and did not before."""
        found = await self.blobs.names()
        objects = [await self.blobs.get(name, found[name].under) for name in found.keys() - set(but)]
        return {step for each in objects if (step := step_of(each)) is not None}

    async def has(self, run: UUID, kind: type[Event], number: int) -> bool:
        """Whether the log has so many facts of a kind about a run."""
        facts = await self.oracle.about(run)
        return sum(fact.subject.startswith(f"{kind.SUBJECT}.") for fact in facts) >= number

    def prepare(self, worker: Worker, moment: Moment) -> None:
        """Set the trap, and have the model fail where that is what leads to it."""
        self.till.failing, self.till.refused = {}, []
        if isinstance(moment, Published) and moment.kind in FAILING:
            step, answers = FAILING[moment.kind]
            self.till.failing[step] = list(answers)
        match moment:
            case Asked():
                self.till.hold(moment.step)
            case Published():
                self.traps[worker].set(fact(moment.kind, moment.fate, moment.nth))
            case Acknowledged():
                consumer = {
                    "investigator": INVESTIGATOR_INVESTIGATION_REQUESTED,
                    "validator": VALIDATOR_CLAIM_PROPOSED,
                }[worker]
                self.traps[worker].set(acknowledgement(consumer, moment.nth))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    """The running system."""
    folder: Path = tmp_path_factory.mktemp("billed")
    with GivenServers(folder / "servers") as servers:
        nats_url = servers.settings["OPENERRATA_NATS_URL"]
        async with Sites() as sites, Trap(nats_url) as investigators, Trap(nats_url) as validators:
            sites.pages["/source"] = PageAnswer(200, {"content-type": "text/html"}, b"<p>It is otherwise.</p>")
            till = Till(f"{sites.url}/source")
            async with openai_server(till):
                settings = disturbed(sites) | {
                    "OPENERRATA_MODEL": "openai_responses:gpt-test",
                    "OPENERRATA_ACK_WAIT_S": ACK_WAIT_S,
                    "OPENERRATA_VALIDATOR_PAGE_ORIGIN": sites.url,
                    "OPENERRATA_VALIDATOR_GATE_FAMILIES": "1",
                    "OPENAI_API_KEY": "sk-test-the-rest-00000000000000000",
                    "OPENAI_BASE_URL": till.url,
                }
                async with system(folder / "system", **servers.settings, **settings) as running:
                    applied = await running.run("topology", "apply")
                    assert applied.code == 0, applied.err
                    assert (await running.run("keys", "add", "tests", "--key", KEY)).code == 0
                    running.spawn(*REST)
                    async with oracle(running.database_url, nats_url) as looking:
                        endpoint, key, secret, bucket = (servers.settings[f"OPENERRATA_S3_{name}"] for name in STORE)
                        blobs = Blobs(BlobSettings(endpoint.removeprefix("http://"), key, secret, bucket))
                        traps: dict[Worker, Trap] = {"investigator": investigators, "validator": validators}
                        world = World(running, sites, till, looking, blobs, traps)
                        world.spawn("investigator")
                        world.spawn("validator")
                        await asyncio.gather(*(process.started() for process in running.processes.values()))
                        yield world


async def asked(world: World, observation: Mapping[str, object] | None = None) -> UUID:
    """A run of a post, of a new one unless told, has been asked for; nothing is paid yet."""
    world.till.bills = []
    async with Extension(world.system.url, api_key=KEY) as reader:
        version = (await reader.register(dict(observation or on_x(BRAIN, GOLDFISH, WALL))))["postVersionId"]
        return UUID((await reader.investigate(version))["investigationId"])


async def ends_as_on_a_quiet_day(world: World, run: UUID, steps: frozenset[str] = STEPS) -> None:
    """Assert that the run ends with each sentence once, and that no stored result was paid for again."""
    async with Extension(world.system.url, api_key=KEY) as reader:
        result = await reader.result(str(run), within_s=WITHIN_S)
    assert [claim["text"] for claim in result["claims"]] == list(APPROVED)
    await world.oracle.settled(within_s=WITHIN_S)
    assert await world.oracle.once_each(run) == list(APPROVED)
    assert {bill.step for bill in world.till.bills} == steps
    await nothing_stored_was_paid_for_again(world, run)


async def nothing_stored_was_paid_for_again(world: World, run: UUID) -> None:
    """Assert it, and that nothing was given up."""
    assert await world.oracle.dead() == []
    assert world.till.paid_twice() == []
    assert world.till.paid_though_stored(await read_history(world.oracle.bus, str(run))) == []


async def test_on_a_quiet_day_each_step_is_paid_for_once(world: World) -> None:
    run = await asked(world)
    await ends_as_on_a_quiet_day(world, run)
    assert Counter(bill.step for bill in world.till.bills) == Counter(STEPS)


@pytest.mark.requirement("3.6-03", "2.6-15")
@pytest.mark.parametrize("moment", OF_THE_INVESTIGATOR, ids=str)
async def test_the_investigator_is_killed(world: World, moment: Moment) -> None:
    """3.6-03: A run whose worker died is taken up again.
    2.6-15: A request during a run starts no second one.
    """
    await survives(world, "investigator", moment)
    the_delay_was_kept(world, moment)
    reviews = Counter(bill.step for bill in world.till.bills if bill.step not in (FIRST, SECOND))
    assert set(reviews.values()) == {1}, "the validator was well all the time"


@pytest.mark.requirement("3.6-03", "2.6-15")
@pytest.mark.parametrize("moment", OF_THE_VALIDATOR, ids=str)
async def test_the_validator_is_killed(world: World, moment: Moment) -> None:
    """3.6-03: A run whose worker died is taken up again.
    2.6-15: A request during a run starts no second one.
    """
    await survives(world, "validator", moment)
    the_delay_was_kept(world, moment)
    rounds = Counter(bill.step for bill in world.till.bills if bill.step in (FIRST, SECOND))
    assert rounds == {FIRST: 1, SECOND: 1}, "the investigator was well all the time"


def the_delay_was_kept(world: World, moment: Moment) -> None:
    """Assert that a step which failed for now is paid for once, and no earlier than its worker told before it died."""
    if isinstance(moment, Published) and moment.kind in FAILING:
        (refused,) = world.till.refused
        (paid,) = (bill for bill in world.till.bills if bill.step == refused.step)
        assert moment.fate == "lost" or paid.at - refused.at >= DELAY


@pytest.mark.requirement("3.7-01", "3.7-03")
@pytest.mark.parametrize(("worker", "moment"), OF_A_FAILURE, ids=str)
async def test_a_worker_is_killed_while_it_tells_of_a_failure(world: World, worker: Worker, moment: Published) -> None:
    """3.7-01: Four attempts, then FAILED.
    3.7-03: A refused key or request fails at once.
    """
    await survives(world, worker, moment, ends_as_failed)
    rounds = Counter(bill.step for bill in world.till.bills if bill.step in (FIRST, SECOND))
    assert rounds[FIRST] == 1
    assert len({(bill.payer, bill.step) for bill in world.till.refused}) == len(world.till.refused)
    if moment.fate == "stored":
        assert len(world.till.refused) == 1, "what was told is not asked for again"


async def ends_as_failed(world: World, run: UUID) -> None:
    """Assert that the run ends once and as failed, and that no stored result was paid for again."""
    async with Extension(world.system.url, api_key=KEY) as reader:
        assert (await reader.result(str(run), within_s=WITHIN_S))["investigationState"] == "FAILED"
    await world.oracle.settled(within_s=WITHIN_S)
    facts = Counter(fact.subject for fact in await world.oracle.about(run))
    assert facts[f"{InvestigationFailed.SUBJECT}.{run}"] == 1
    assert facts[f"{InvestigationCompleted.SUBJECT}.{run}"] == 0
    await nothing_stored_was_paid_for_again(world, run)


@pytest.mark.requirement("3.6-03", "2.6-15")
@pytest.mark.parametrize("moment", OF_AN_UPDATE_RUN, ids=str)
async def test_the_investigator_is_killed_in_an_update_run(world: World, moment: Published) -> None:
    """3.6-03: A run whose worker died is taken up again.
    2.6-15: A request during a run starts no second one.
    """
    first = on_wikipedia(world.sites, BRAIN, GOLDFISH, WALL)
    await ends_as_on_a_quiet_day(world, await asked(world, first.observation))
    page_id = int(first.observation["metadata"]["pageId"])
    edited = on_wikipedia(world.sites, BRAIN, GOLDFISH, WALL, page_id=page_id, aside="It was edited.")
    await survives(world, "investigator", moment, ends_as_an_update, edited.observation)


async def ends_as_an_update(world: World, run: UUID) -> None:
    """Assert the same of an update run, and that each finding it keeps is told to be kept once."""
    await ends_as_on_a_quiet_day(world, run, OF_AN_UPDATE)
    kept = Counter(
        fact.envelope["event"]["claim_id"]
        for fact in await world.oracle.about(run)
        if fact.subject.startswith(f"{ClaimRetained.SUBJECT}.")
    )
    assert sorted(kept.values()) == [1] * len(APPROVED)


@pytest.mark.requirement("2.6-15", "3.6-03")
async def test_an_investigator_that_slept_through_its_deadline_leaves_the_run_to_another(world: World) -> None:
    """2.6-15: A request during a run starts no second one.
    3.6-03: A run whose worker died is taken up again.
    """
    sleeper = world.system.processes["investigator"]
    sleeper.send(signal.SIGSTOP)
    run = await asked(world)
    world.till.slow = asyncio.Event()
    payer = world.spawn("investigator", "investigator-awake")
    awake = world.system.processes["investigator-awake"]
    try:
        await until(lambda: _true(bool(world.till.bills)), "the other worker takes over", within_s=WITHIN_S)
        sleeper.send(signal.SIGCONT)
        await until(lambda: _true(_left_alone(sleeper)), "the late delivery is left alone", within_s=WITHIN_S)
        world.till.slow.set()
        await ends_as_on_a_quiet_day(world, run)
        assert Counter(bill.step for bill in world.till.bills) == Counter(STEPS)
        assert {bill.payer for bill in world.till.bills if bill.step in (FIRST, SECOND)} == {payer}
    finally:
        world.till.slow = None
        sleeper.send(signal.SIGCONT)
        await awake.kill()


async def _true(value: bool) -> bool:
    return value


def _left_alone(process: Process) -> bool:
    return any("leaving it alone" in line.get("event", "") for line in process.lines())


async def survives(
    world: World,
    worker: Worker,
    moment: Moment,
    ends: Ends = ends_as_on_a_quiet_day,
    observation: Mapping[str, object] | None = None,
) -> None:
    """Kill one worker at one moment and let another one take over."""
    before = await world.blobs.names()
    world.prepare(worker, moment)
    run = await asked(world, observation)
    await world.die(worker, moment, run)
    kept, paid = await world.kept(before), len(world.till.bills)
    if isinstance(moment, Published) and moment.kind in AFTER_ITS_ANSWER:
        assert kept & AFTER_ITS_ANSWER[moment.kind], "it died with an answer in the store"
    world.spawn(worker)
    await ends(world, run)
    world.till.failing = {}
    again = {bill.step for bill in world.till.bills[paid:]} & kept
    assert not again, "what lay in the store when it died was paid for once more"


@pytest.mark.requirement("2.6-15", "3.6-03")
async def test_a_validator_that_was_asleep_does_not_pay_for_what_another_one_judged(world: World) -> None:
    """Its machine slept: candidates wait for it, as if they were delivered for the first time.

    2.6-15: A request during a run starts no second one.
    3.6-03: A run whose worker died is taken up again.
    """
    sleeper = world.system.processes["validator"]
    run = await fell_asleep(world, sleeper)
    world.spawn("validator")
    await ends_as_on_a_quiet_day(world, run)
    first = world.till.bills
    sleeper.send(signal.SIGCONT)
    await world.system.processes["validator"].kill()
    run = await asked(world)  # whoever judges this one has been through what waited
    await ends_as_on_a_quiet_day(world, run)
    assert Counter(bill.step for bill in first + world.till.bills) == Counter([*STEPS, *STEPS])
    await sleeper.kill()
    world.spawn("validator")


async def fell_asleep(world: World, sleeper: Process) -> UUID:
    """A run whose candidates are on the way to a validator that is stopped: the broker knows, the worker does not."""
    for _ in range(8):
        sleeper.send(signal.SIGSTOP)
        run = await asked(world)
        await until(partial(world.has, run, ClaimProposed, 4), "all candidates are known", within_s=WITHIN_S)
        info = await world.oracle.bus.jetstream.consumer_info(ERRATA.name, VALIDATOR_CLAIM_PROPOSED.name)
        if info.num_ack_pending:
            return run
        sleeper.send(signal.SIGCONT)  # it was between two questions; nothing was on its way
        await ends_as_on_a_quiet_day(world, run)
    raise AssertionError("it was never asleep at the right moment")


@pytest.mark.requirement("3.7-01")
async def test_a_run_that_kills_whoever_takes_it_comes_to_an_end(world: World) -> None:
    """3.7-01: Four attempts, then FAILED."""
    world.prepare("investigator", Asked(SECOND))
    run = await asked(world)
    for _ in range(4):
        await world.die("investigator", Asked(SECOND), run)
        world.prepare("investigator", Asked(SECOND))
        world.spawn("investigator")
    async with Extension(world.system.url, api_key=KEY) as reader:
        assert (await reader.result(str(run), within_s=WITHIN_S))["investigationState"] == "FAILED"
    await world.oracle.settled(within_s=WITHIN_S)
    assert Counter(bill.step for bill in world.till.bills if bill.step in (FIRST, SECOND)) == {FIRST: 1, SECOND: 4}
    assert world.till.paid_twice() == []
