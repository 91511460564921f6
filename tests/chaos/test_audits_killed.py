"""Twenty jobs that share their claims go through two auditors, one of which is killed again and again.

Whatever the moment: each job ends and is charged once, and nothing is asked of the model whose answer is stored. What
was asked and not yet stored when an auditor died is asked once more; that is ours to pay, no account's.
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from uuid import UUID, uuid4

import pytest
import pytest_asyncio

from contracts.topology import (
    AUDITOR_ASSERTION_ANALYSIS_REQUESTED,
    AUDITOR_JOB_REQUESTED,
    AUDITOR_JOB_RESOLVED,
    AUDITS_CONCLUDE_MARK,
    CLAIM_KEYS,
    JOBS,
    MARKS,
    MEMOS,
    REDELIVERY,
)
from contracts.v1 import (
    AssertionAnalysed,
    AssertionAnalysisRequested,
    CreditPosted,
    Event,
    JobEnded,
    JobExtracted,
    JobFetched,
    JobPlanned,
    JobRequested,
    JobResolved,
    RunAdvanced,
    RunFailed,
    RunStarted,
)
from contracts.v1.ids import step_run_id
from contracts.v1.parts import EPHEMERAL
from kit.bus import Bus
from kit.circuit import pause, resume
from kit.dead_letters import Origin, redeliver
from kit.ephemeral import TextBucket
from kit.vault import MasterKey
from lifecycle.audits.runs import ASSESS, EXTRACT
from tests.chaos.auditors import WITHIN_S, Asked, Auditors, CutOff, Moment, WatchedProvider, auditors
from tests.support.audit_facts import count, ended, facts, of, require_balances
from tests.support.audit_instance import Gateway, account, find_assertion, find_run
from tests.support.audit_provider import CALLS, Step
from tests.support.consumers import have_handled_all
from tests.support.openai_server import openai_server
from tests.support.oracle import Oracle, oracle
from tests.support.sites import Answer, Sites
from tests.support.system import GivenServers, system, until
from tests.support.trap import Fate, Word, acknowledgement, fact

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.xdist_group("chaos-audits")]

CONSUMERS: Final = (AUDITOR_JOB_REQUESTED, AUDITOR_ASSERTION_ANALYSIS_REQUESTED, AUDITOR_JOB_RESOLVED)
JOBS_AT_ONCE: Final = 20
ACCOUNTS: Final = 4
CLAIMS: Final = tuple(f"The tower of town {name} is 330 metres tall." for name in "ABCDEFGH")
OWN_STEPS: Final = 33_000
ANALYSIS: Final = 81_000
"""What a job pays for its own two steps, and for each claim that it is the first to ask for. Units: micro-dollars."""
ACK_WAIT_S: Final = "4"
PAUSE_S: Final = 600.0
SEED: Final = 1


def about(kind: type[Event], claim: str, fate: Fate, nth: int = 1) -> Word:
    """A fact of the run of a claim."""
    return Word(f"{kind.SUBJECT}.{find_run(claim)}", fate, nth)


def analysed(claim: str, fate: Fate) -> Word:
    """The analysis of a claim."""
    return Word(f"{AssertionAnalysed.SUBJECT}.{find_assertion(claim)}", fate)


def answer(claim: str, fate: Fate, nth: int = 1) -> Word:
    """An answer about a claim, on its way to where it is stored."""
    return Word(f"answers/{find_run(claim)}/", fate, nth)


def entry(name: str) -> Word:
    """An entry of a bucket."""
    return Word(f"$KV.{name}", "lost")


REQUESTS: Final[tuple[Moment, ...]] = (
    fact(AssertionAnalysisRequested, "lost", 2),
    fact(AssertionAnalysisRequested, "stored"),
    entry(CLAIM_KEYS.name),
)
"""While the claims are new, which they are no longer once a job is planned."""
INTAKE: Final[tuple[Moment, ...]] = (
    Word("until/", "lost"),
    Word("until/", "stored"),
    fact(JobFetched, "lost"),
    fact(JobFetched, "stored"),
    fact(RunStarted, "lost"),
    fact(RunStarted, "stored"),
    Word("answers/", "lost"),
    Word("answers/", "stored"),
    fact(JobExtracted, "lost"),
    fact(JobExtracted, "stored"),
    entry(MEMOS.name),
    fact(JobPlanned, "lost"),
    fact(JobPlanned, "stored"),
    acknowledgement(AUDITOR_JOB_REQUESTED),
)
"""Each for a job of its own, until it is planned."""
FIRST, A, B, C, D, E, F, G = CLAIMS
BODIES: Final[tuple[Moment, ...]] = (Word("until/", "lost"), Word("until/", "stored"))
"""The body of an analysis, which names no claim: of the first one, while it alone is analysed."""
ANALYSES: Final[tuple[tuple[Moment, ...], ...]] = (
    (about(RunStarted, A, "lost"), Asked("analyse", A), answer(A, "lost")),
    (about(RunStarted, B, "stored"), CutOff(about(RunAdvanced, B, "lost"), find_run(B))),
    (answer(C, "lost", 2), answer(C, "stored")),
    (about(RunAdvanced, D, "stored"), Asked("analyse", D)),
    (answer(E, "stored", 3), analysed(E, "lost")),
    (answer(F, "stored"), about(RunAdvanced, F, "lost")),
    (answer(G, "lost"), analysed(G, "stored")),
    (acknowledgement(AUDITOR_ASSERTION_ANALYSIS_REQUESTED),),
    (fact(JobResolved, "lost", 3),),
    (fact(JobResolved, "stored", 8),),
)
"""By claim. A run has four attempts: two deaths leave it one that a stalled machine may cost, since a message that is
not acknowledged in time goes to the other auditor. No auditor analyses two of these at once.
"""


ASSESSMENTS: Final[tuple[Moment, ...]] = (
    fact(RunStarted, "lost"),
    fact(RunStarted, "stored"),
    Word("answers/", "lost"),
    Word("answers/", "stored"),
    Word("until/", "lost"),
    Word("until/", "stored"),
    fact(JobEnded, "lost"),
    fact(JobEnded, "stored"),
)
"""Each for a job of its own, from its last step to its end."""
ENDINGS: Final[tuple[tuple[Moment, ...], ...]] = (
    (acknowledgement(AUDITOR_JOB_RESOLVED),),
    (fact(CreditPosted, "lost"), fact(CreditPosted, "stored")),
    (Word("removal/", "lost"), Word("removal/", "stored")),
    (entry(f"{MARKS.name}.{AUDITS_CONCLUDE_MARK}"),),
)
"""For whichever of the other jobs."""


@dataclass
class World:
    """Two auditors and a projector over servers of their own; jobs come in here. Shapes: `jobs` by article."""

    auditors: Auditors
    provider: WatchedProvider
    oracle: Oracle
    gateway: Gateway
    jobs: dict[str, UUID] = field(default_factory=dict)
    _chance: random.Random = field(default_factory=lambda: random.Random(SEED))

    @property
    def bus(self) -> Bus:
        return self.oracle.bus

    def find_run(self, step: Step, subject: str) -> UUID:
        """The run of a step; that of a job that is not known yet has no answers."""
        if step == "analyse":
            return find_run(subject)
        return step_run_id(self.jobs.get(subject, UUID(int=0)), EXTRACT if step == "extract" else ASSESS)

    async def accept(self) -> UUID:
        """Another job about the same claims."""
        number = len(self.jobs)
        article = write_article(number)
        job = await self.gateway.accept(account(number % ACCOUNTS), article, max_claims=len(CLAIMS))
        self.jobs[article] = job
        return job

    async def have(self, kind: type[Event], number: int) -> None:
        """Wait for facts about so many things; no run may fail meanwhile."""

        async def stored() -> bool:
            assert not await count(self.bus, RunFailed)
            return len(await count(self.bus, kind)) >= number

        await until(stored, f"{number} facts {kind.__name__}", within_s=WITHIN_S)

    async def double(self, kind: type[Event], *of: UUID) -> None:
        """Deliver facts once more, in another order: about these things, or all of a kind."""
        consumer = next(each for each in CONSUMERS if each.event is kind)
        keys = {str(each) for each in of}
        found = [each for each in await facts(self.bus) if isinstance(each.event, kind)]
        for each in self._chance.sample(found, len(found)):
            if not keys or each.event.key() in keys:
                stored = await self.bus.jetstream.get_msg(JOBS.name, each.sequence)
                origin = Origin(JOBS.name, each.sequence, each.event.subject())
                await redeliver(self.bus, consumer, origin, stored.data or b"", str(uuid4()))

    async def removed(self) -> bool:
        """Whether nothing is stored any more that was kept only while a job was open."""
        return not [each for each in await TextBucket(self.bus).names(EPHEMERAL) if "/open/" in each]

    async def done(self) -> bool:
        """Whether no message waits for an auditor or is in its hands."""
        doubled = await self.bus.jetstream.stream_info(REDELIVERY.name)
        return doubled.state.messages == 0 and await have_handled_all(self.bus, *CONSUMERS)


def write_article(number: int) -> str:
    """An article of its own with the claims of all."""
    return "\n".join((*CLAIMS, f"# as number {number} has it"))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    """The running system; nothing is analysed or assessed yet."""
    folder: Path = tmp_path_factory.mktemp("audits-killed")
    async with AsyncExitStack() as stack:
        servers = stack.enter_context(GivenServers(folder / "servers"))
        sites = await stack.enter_async_context(Sites())
        pages = ("/office", "/paper")
        sites.pages |= {each: Answer(200, {"content-type": "text/html"}, b"<p>It is so.</p>") for each in pages}
        provider = WatchedProvider(opened=tuple(sites.url + each for each in pages))
        await stack.enter_async_context(openai_server(provider))
        settings = {
            "OPENERRATA_MODEL": "openai_responses:gpt-5.4",
            "OPENERRATA_ACK_WAIT_S": ACK_WAIT_S,
            "OPENERRATA_AUDITOR_PAGE_ORIGIN": sites.url,
            "OPENERRATA_AUDITOR_RECEIPT_KEY": str(MasterKey.generate()),
            "LLM_PRIMARY_PROVIDER": "openai",
            "OPENERRATA_AUDITOR_CLAIM_SLOTS": "1",
            "OPENERRATA_AUDITOR_ASSESS_SLOTS": "1",
            "OPENAI_BASE_URL": provider.url,
        }
        running = await stack.enter_async_context(system(folder / "system", **servers.settings, **settings))
        assert (await running.run("topology", "apply")).code == 0
        running.spawn("projector")
        looking = await stack.enter_async_context(oracle(running.database_url, running.nats_url))
        for consumer in (AUDITOR_ASSERTION_ANALYSIS_REQUESTED, AUDITOR_JOB_RESOLVED):
            await pause(looking.bus, consumer, PAUSE_S)
        both = await stack.enter_async_context(auditors(running, provider, looking.bus))
        world = World(both, provider, looking, Gateway(looking.bus, TextBucket(looking.bus)))
        provider.find_run = world.find_run
        for process in running.processes.values():
            await process.started()
        yield world


@pytest.mark.requirement("FH-70", "FH-40")
async def test_auditors_are_killed_at_every_step_and_messages_come_twice(world: World) -> None:
    """FH-70: One claim causes one call within its lifetime, also concurrently.
    FH-40: Credit is reserved at intake and settled at the end.
    """
    asked = Asked("extract", write_article(len(REQUESTS) + len(INTAKE)))
    for moment in (*REQUESTS, *INTAKE, asked):
        if moment not in REQUESTS:
            await world.have(JobPlanned, len(world.jobs))  # else this death would cost them an attempt, too
        world.auditors.watch(moment)
        job = await world.accept()
        if len(world.jobs) % 3 == 0:
            await world.double(JobRequested, job)
        assert await world.auditors.kill_next() == moment
    while len(world.jobs) < JOBS_AT_ONCE:
        await world.accept()
    await world.have(JobPlanned, JOBS_AT_ONCE)
    await world.double(JobRequested)
    await world.bus.jetstream.resume_consumer(REDELIVERY.name, AUDITOR_ASSERTION_ANALYSIS_REQUESTED.name)
    await world.double(AssertionAnalysisRequested, find_assertion(FIRST))
    await world.auditors.kill_at_each(BODIES)
    await world.have(AssertionAnalysed, 1)
    await resume(world.bus, AUDITOR_ASSERTION_ANALYSIS_REQUESTED)
    await world.auditors.kill_at_each(*ANALYSES)
    await world.have(JobResolved, JOBS_AT_ONCE)
    await world.double(AssertionAnalysisRequested)
    jobs = list(world.jobs.items())
    await world.bus.jetstream.resume_consumer(REDELIVERY.name, AUDITOR_JOB_RESOLVED.name)
    for number, moment in enumerate((*ASSESSMENTS, Asked("assess", jobs[len(ASSESSMENTS)][0]))):
        world.auditors.watch(moment)
        await world.double(JobResolved, jobs[number][1])
        assert await world.auditors.kill_next() == moment
        await world.have(JobEnded, number + 1)
    await resume(world.bus, AUDITOR_JOB_RESOLVED)
    await world.auditors.kill_at_each(*ENDINGS)
    await world.double(JobResolved)
    ends = await ended(world.bus, world.jobs.values(), within_s=WITHIN_S)
    await until(world.done, "no message is left", within_s=WITHIN_S)
    await world.oracle.settled(only_projector=True)
    assert {each.outcome for each in ends.values()} == {"SUCCEEDED"}
    await until(world.removed, "the words of open jobs are removed", within_s=WITHIN_S)
    assert await world.oracle.dead() == []
    require_one_purchase(world)
    await require_one_charge(world, ends.values())


def require_one_purchase(world: World) -> None:
    """Assert that each question was asked, and again only where its auditor had died before its answer was stored."""
    assert world.provider.needless == [], "\n".join([*world.provider.needless, *world.auditors.died])
    assert world.provider.count_questions("analyse").keys() == {
        (claim, n) for claim in CLAIMS for n in range(CALLS["analyse"])
    }
    for step in ("extract", "assess"):
        assert world.provider.count_questions(step).keys() == {(article, 0) for article in world.jobs}


async def require_one_charge(world: World, ends: Iterable[JobEnded]) -> None:
    """Assert that each job paid for its own steps, and one of them for each claim."""
    found = await facts(world.bus)
    assert len(of(found, JobEnded)) == len(of(found, JobResolved)) == len(of(found, JobPlanned)) == JOBS_AT_ONCE
    assert len(of(found, AssertionAnalysisRequested)) == len(of(found, AssertionAnalysed)) == len(CLAIMS)
    charged = require_balances(found)
    assert charged == {each.job_id: each.charged_micro_usd for each in ends}
    assert sum(charged.values()) == JOBS_AT_ONCE * OWN_STEPS + len(CLAIMS) * ANALYSIS
    sums = "SELECT (sum(used_micro_usd), sum(reserved_micro_usd), sum(open_jobs))::text FROM readmodel.credit_period"
    assert await world.oracle.value(sums) == f"({sum(charged.values())},0,0)"
