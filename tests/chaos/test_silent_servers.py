"""Broker, database or blob store fall silent under a whole instance: stopped, or behind connections that are half open.

What needs the silent server is refused within three seconds, everything else is answered as ever, and ten seconds after
it is back everything is served again. `-s` prints the seconds.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, Self
from uuid import uuid4

import httpx
import pytest
import pytest_asyncio

from kit.embedded import ServiceName
from services.commands.process import SERVICES
from services.gateway.extension.status import ANSWER_TTL_S
from tests.chaos.conftest import KEY, disturbed
from tests.e2e.posts import BRAIN, on_x
from tests.support.extension_client import Extension, Json, RpcFailed
from tests.support.line import Line
from tests.support.sites import Sites
from tests.support.system import GivenServers, System, system, until

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.xdist_group("chaos-silent")]

REFUSED_S: Final = 3.0
AS_EVER_S: Final = 1.5
RECOVERED_S: Final = 10.0
SILENT_FOR_S: Final = 8.0
"""Longer than it takes to notice a silence and to try again."""
AGAIN_S: Final = 0.5
MANY: Final = 8
QUIET_S: Final = 30.0
MARGIN_S: Final = 2.0
"""For a machine that does other work."""
LONG: Final = "So they say. " * 2_000
"""Too long to travel inside a fact."""

Kind = Literal["stopped", "half-open"]
BROKER: Final[frozenset[ServiceName]] = frozenset({"nats"})
DATABASE: Final[frozenset[ServiceName]] = frozenset({"postgres"})
BLOBS: Final[frozenset[ServiceName]] = frozenset({"s3"})
NOTHING: Final[frozenset[ServiceName]] = frozenset()
ADDRESSES: Final[dict[ServiceName, str]] = {
    "nats": "OPENERRATA_NATS_URL",
    "postgres": "OPENERRATA_DATABASE_URL",
    "s3": "OPENERRATA_S3_ENDPOINT",
}


@dataclass(frozen=True)
class World:
    """A gateway in one process and the other services in another, all of them behind lines that can fail."""

    servers: GivenServers
    lines: dict[ServiceName, Line]
    reader: Extension
    member: Extension
    operator: httpx.AsyncClient
    known: Json
    version: str
    run: str

    @contextmanager
    def silent(self, name: ServiceName, kind: Kind) -> Iterator[None]:
        """Have a server say nothing."""
        if kind == "stopped":
            with self.servers.suspended(name):
                yield
            return
        self.lines[name].fail("half-open")
        try:
            yield
        finally:
            self.lines[name].heal()

    async def get(self, path: str) -> int:
        return (await self.reader.http.get(path, headers={"accept": "text/html"})).status_code

    async def operations(self, path: str) -> int:
        return (await self.operator.get(path)).status_code

    async def graphql(self) -> int:
        question = {"query": "{ searchInvestigations(limit: 1) { hasMore } }"}
        answer = await self.reader.http.post("/graphql", json=question)
        return 503 if "errors" in answer.json() else answer.status_code  # GraphQL says it in the body

    async def new(self, sentence: str) -> int:
        return await exporter(self.reader.register(on_x(sentence)))

    async def follow(self) -> int:
        async with self.reader.http.stream("GET", "/events") as answer:
            return answer.status_code


@dataclass(frozen=True)
class Request:
    """What somebody asks, and what must be there for an answer. Units: one from `remembered_s` ago is given again."""

    name: str
    needs: frozenset[ServiceName]
    ask: Callable[[World], Awaitable[int]]
    remembered_s: float = 0.0


NEW_POST: Final = Request("a new post", BROKER | DATABASE, lambda world: world.new("Nothing of note."))
REQUESTS: Final = (
    NEW_POST,
    Request("a new long post", BROKER | DATABASE | BLOBS, lambda world: world.new(LONG)),
    Request("a post seen before", NOTHING, lambda world: exporter(world.reader.register(world.known))),
    Request("a view of a finished result", BROKER, lambda world: exporter(world.reader.view(world.version))),
    Request(
        "a finished investigation's status",
        DATABASE,
        lambda world: exporter(world.reader.look(world.run)),
        remembered_s=ANSWER_TTL_S,
    ),
    Request("an investigation's status", DATABASE, lambda world: exporter(world.reader.look(str(uuid4())))),
    Request("a request that is paid for", DATABASE, lambda world: exporter(world.member.investigate(world.version))),
    Request("a page", DATABASE, lambda world: world.get(f"/investigations/{world.run}")),
    Request("a page without data", NOTHING, lambda world: world.get("/how-it-works")),
    Request("GraphQL", DATABASE, lambda world: world.graphql()),
    Request("events", NOTHING, lambda world: world.follow()),
    Request("/health", BROKER | DATABASE, lambda world: world.get("/health"), remembered_s=REFUSED_S),
    Request("/ready", BROKER | DATABASE | BLOBS, lambda world: world.get("/ready"), remembered_s=REFUSED_S),
    Request("liveness", NOTHING, lambda world: world.operations("/health")),
    Request("metrics", NOTHING, lambda world: world.operations("/metrics")),
)


async def exporter(asking: Awaitable[Any]) -> int:
    """The status of an answer."""
    try:
        await asking
    except RpcFailed as failed:
        return failed.status
    return 200


@dataclass(frozen=True)
class Answer:
    """What came of a request. Units: seconds from the fault to the request, and from there to the answer."""

    request: Request
    status: int
    asked_s: float
    took_s: float

    def __str__(self) -> str:
        return f"{self.request.name}, asked after {self.asked_s:.1f} s: {self.status} after {self.took_s:.1f} s"


@dataclass(frozen=True)
class Clock:
    """Seconds since the fault, or since its end."""

    world: World
    began: float

    @classmethod
    def now(cls, world: World) -> Self:
        return cls(world, asyncio.get_running_loop().time())

    @property
    def passed_s(self) -> float:
        return asyncio.get_running_loop().time() - self.began

    async def ask(self, request: Request) -> Answer:
        asked_s = self.passed_s
        status = await request.ask(self.world)
        return Answer(request, status, asked_s, self.passed_s - asked_s)

    async def ask_all(self, *more: Request) -> list[Answer]:
        return await asyncio.gather(*map(self.ask, (*REQUESTS, *more)))

    async def served_s(self, request: Request) -> float:
        """When it is served again."""

        async def served() -> bool:
            return (await self.ask(request)).status == 200

        await until(served, f"{request.name} is served", within_s=6 * RECOVERED_S)
        return self.passed_s

    async def as_ever(self) -> bool:
        """Whether everything is served, and at once: by chance, one post would miss a connection that is dead."""
        answers = await self.ask_all(*[NEW_POST] * MANY)
        return all(each.status == 200 and each.took_s < AS_EVER_S for each in answers)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    folder: Path = tmp_path_factory.mktemp("silent")
    with GivenServers(folder / "servers") as servers:
        async with AsyncExitStack() as stack:
            given = servers.settings
            lines = {name: await stack.enter_async_context(Line(given[each])) for name, each in ADDRESSES.items()}
            behind = given | {each: lines[name].url for name, each in ADDRESSES.items()}
            sites = await stack.enter_async_context(Sites())
            settings = (
                behind
                | disturbed(sites)
                | {
                    "OPENERRATA_GATEWAY_REMEMBER_OBSERVATIONS_S": "3600",
                    "OPENERRATA_GATEWAY_EVENTS_CONNECTS_BURST": "1000",
                }
            )
            running: System = await stack.enter_async_context(system(folder / "system", **settings))
            applied = await running.run("topology", "apply")
            assert applied.code == 0, applied.err
            assert (await running.run("keys", "add", "tests", "--key", KEY)).code == 0
            await running.up(*(name for name in SERVICES if name != "gateway"), name="services")
            gateway = await running.up("gateway")
            reader = await stack.enter_async_context(Extension(gateway.url))
            member = await stack.enter_async_context(Extension(gateway.url, api_key=KEY))
            known = on_x(BRAIN)
            version, run, _ = await member.investigated(known)
            await reader.register(known)
            await reader.view(version["postVersionId"])
            operator = await stack.enter_async_context(
                httpx.AsyncClient(base_url=gateway.operations_url, trust_env=False, timeout=60)
            )
            await stack.enter_async_context(reader.http.stream("GET", "/events"))
            yield World(servers, lines, reader, member, operator, known, version["postVersionId"], run)


@pytest.mark.parametrize("kind", ["stopped", "half-open"])
@pytest.mark.parametrize("server", list(ADDRESSES))
async def test_a_silent_server_is_felt_by_those_who_need_it_and_for_seconds(
    world: World, server: ServiceName, kind: Kind
) -> None:
    await until(Clock.now(world).as_ever, "everything is served", within_s=QUIET_S)
    under_way = asyncio.create_task(Clock.now(world).ask_all())
    await asyncio.sleep(0)
    with world.silent(server, kind):
        fault = Clock.now(world)
        answers: list[Answer] = []
        while fault.passed_s < SILENT_FOR_S:
            answers += await fault.ask_all()
            await asyncio.sleep(AGAIN_S)
        late = [each for each in await under_way if each.took_s > REFUSED_S + MARGIN_S]
    fault = Clock.now(world)
    served_s = await asyncio.gather(*map(fault.served_s, REQUESTS))
    refused = [each for each in answers if each.status == 503]
    print(
        f"\n{server} {kind}: first 503 after {min(each.asked_s + each.took_s for each in refused):.1f} s, "
        f"slowest 503 {max(each.took_s for each in refused):.1f} s, all served {max(served_s):.1f} s after it is back"
    )
    assert not late, "what was under way"
    assert not [str(each) for each in answers if not as_it_should(each, server)]
    slow = {request.name: round(s, 1) for request, s in zip(REQUESTS, served_s, strict=True) if s > RECOVERED_S}
    assert not slow, "served again, after so many seconds"
    await until(fault.as_ever, "everything is as fast as it was", within_s=QUIET_S)


def as_it_should(answer: Answer, silent: ServiceName) -> bool:
    if silent in answer.request.needs and (answer.status == 503 or answer.asked_s > answer.request.remembered_s):
        return answer.status == 503 and answer.took_s < REFUSED_S + MARGIN_S
    return answer.status == 200 and answer.took_s < AS_EVER_S + MARGIN_S
