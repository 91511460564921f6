"""A day of a million readers at a hundredth of its size, through the real services, against what was predicted.

First each kind of work is done alone, so that its cost is known. The day is then predicted from those costs, and
carried out. What the parts of a system do to each other shows as a difference: a cost that grows with what is stored or
with what is under way would make the prediction wrong, and so `docs/scale.md`.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, sleep
from typing import Final

from contracts.topology import STREAMS
from contracts.v1.ids import post_id, version_id
from contracts.v1.parts import PostRef
from kit.servers_in_use import Servers
from platforms.identity import content_hash, occurrences_hash, version_hash
from services.commands.process import SERVICES
from tests.bench import load
from tests.bench.bench_gateway import REGISTER, USER_KEY, VIEW, post, prepare, request
from tests.bench.child import Child
from tests.bench.cost import tree_cpu_s
from tests.bench.report import Report, within
from tests.bench.rig import servers, start
from tests.bench.scale import PARTS, PLACES, WORKS, Costs, Day, Part, Place, Use, Work, draw_day, predict
from tests.support.oracle import oracle

READERS: Final = 1_000_000
PAGES_A_READER: Final = 10
PART_OF_DAY: Final = 100
POSTS: Final = 5_000
INVESTIGATIONS: Final = 40
HOURS: Final = 24
SEED: Final = 1
IDLE_S: Final = 5.0
ALONE: Final[dict[Work, int]] = {"known page": 3_000, "new post": 1_000, "investigation": 60}
FIRST_ALONE: Final = 1_000_000
INVESTIGATE: Final = "post.investigateNow"
TOLERANCE: Final = 0.35
"""How far a prediction may be off. The machine's own pace changes by a quarter from minute to minute."""


@dataclass
class System:
    """The gateway in a process of its own, the services in another one, and the servers."""

    found: Servers
    address: tuple[str, int]
    sender: Child
    pids: dict[Part, int]

    def send(self, wires: Sequence[bytes]) -> load.Round:
        """Send each request once. Raises: RuntimeError: one was refused."""
        round_: load.Round = self.sender.ask(load.Plan(self.address, wires, seconds=600.0))
        if round_.failures:
            raise RuntimeError(f"{round_.failures} of {len(round_.latencies)} requests failed: {round_.failure}")
        return round_

    @contextmanager
    def measured(self, into: list[Use]) -> Iterator[None]:
        """Measure what the parts take within the context, until nothing is left to do, and append it to `into`."""
        before = self._look()
        yield
        asyncio.run(self._settle())
        after = self._look()
        into.append(after.plus(before.times(-1)))

    def _look(self) -> Use:
        stored = asyncio.run(self._stored())
        return Use({part: tree_cpu_s(pid) * 1e3 for part, pid in self.pids.items()}, stored)

    async def _settle(self) -> None:
        async with oracle(self.found.database_url, self.found.nats_url) as looking:
            await looking.settled(within_s=300)

    async def _stored(self) -> dict[Place, float]:
        async with oracle(self.found.database_url, self.found.nats_url) as looking:
            states = [(await looking.bus.jetstream.stream_info(each.name)).state for each in STREAMS]
            tables = await looking.value("SELECT pg_database_size(current_database())")
        facts, size = sum(each.last_seq for each in states), sum(each.bytes for each in states)
        return {"facts": float(facts), "log": float(size), "tables": float(tables)}


def bench(folder: Path, report: Report) -> None:
    """Costs, prediction and day."""
    pages = READERS * PAGES_A_READER // PART_OF_DAY
    os.environ["OPENERRATA_GATEWAY_OWN_KEY_RUNS"] = "1000"  # all readers of this day come from one network
    # The day passes in minutes: what is remembered for one of them would be remembered for hours.
    os.environ["OPENERRATA_GATEWAY_REMEMBER_OBSERVATIONS"] = "0"
    report.head(f"a day of {READERS:,} readers at 1/{PART_OF_DAY}: {pages:,} pages")
    with servers(folder) as found, ExitStack() as processes:
        asyncio.run(prepare(found))
        log = folder / "services.log"
        rest = processes.enter_context(start(found, log, *SERVICES[:-1]))
        rest.hear()
        gateway = processes.enter_context(start(found, log, SERVICES[-1]))
        address = gateway.hear()
        assert found.stack is not None
        pids: dict[Part, int] = {"gateway": gateway.pid, "services": rest.pid}
        pids |= {part: pid for part in PARTS if (pid := found.stack.pids.get(part)) is not None}
        system = System(found, address, processes.enter_context(Child(load.main)), pids)
        compare(system, draw_day(pages, POSTS, INVESTIGATIONS, SEED), report)


def compare(system: System, day: Day, report: Report) -> None:
    """Measure the costs, predict the day, carry it out, and report both."""
    costs = measure_costs(system)
    for kind in WORKS:
        report.note(f"{kind}: {describe(costs.work[kind])}")
    report.note(f"a second without readers: {describe(costs.idle_second)}")
    began, used, latencies = perf_counter(), list[Use](), list[float]()
    with system.measured(used):
        for hour in split(day, HOURS):
            for wires in write_hour(hour):
                latencies += system.send(wires).latencies
    predicted = predict(day.count(), perf_counter() - began, costs)
    report.note(", ".join(f"{number:,} {kind}s" for kind, number in day.count().items()))
    for part in PARTS:
        expected, seen = predicted.cpu_ms.get(part, 0.0) / 1e3, used[0].cpu_ms.get(part, 0.0) / 1e3
        report.line(f"CPU of {part}", seen, "s", ratio=seen / expected, target=within(TOLERANCE), of="predicted")
    for place in PLACES:
        expected, seen = predicted.stored[place], used[0].stored[place]
        unit = "" if place == "facts" else "bytes"
        report.line(place, seen, unit, ratio=seen / expected, target=within(TOLERANCE), of="predicted")
    answers = load.Round(latencies=latencies)
    report.line("p99 of all requests", answers.percentile_ms(99), "ms")


def measure_costs(system: System) -> Costs:
    """Measure each kind of work alone, after a first one that fills caches and pools."""
    known = range(FIRST_ALONE, FIRST_ALONE + 50)
    new = range(known.stop, known.stop + ALONE["new post"])
    investigated = range(new.stop, new.stop + ALONE["investigation"])
    for posts in (known, investigated):
        system.send([observe(number) for number in posts])
    asked: dict[Work, list[list[bytes]]] = {
        "known page": read([known[n % len(known)] for n in range(ALONE["known page"])]),
        "new post": read(new),
        "investigation": [[investigate(number) for number in investigated]],
    }
    used: list[Use] = []
    with system.measured(used):
        sleep(IDLE_S)
    idle = used.pop().times(1 / IDLE_S)
    work: dict[Work, Use] = {}
    for kind in WORKS:
        began = perf_counter()
        with system.measured(used):
            for wires in asked[kind]:
                system.send(wires)
        alone = used.pop().plus(idle.times(began - perf_counter()))
        work[kind] = alone.times(1 / ALONE[kind])
    return Costs(work, idle)


def split(day: Day, parts: int) -> Iterator[Day]:
    """The day in parts; what is investigated is so in the part after its post was opened first."""
    size = -(-len(day.posts) // parts)
    opened: set[int] = set()
    left = set(day.investigated)
    for begin in range(0, len(day.posts), size):
        yield Day(day.posts[begin : begin + size], tuple(sorted(left & opened)))
        left -= opened
        opened |= set(day.posts[begin : begin + size])
    yield Day((), tuple(sorted(left)))


def write_hour(hour: Day) -> Iterator[list[bytes]]:
    """Requests of an hour, in parts that follow each other."""
    yield [investigate(number) for number in hour.investigated]
    yield from read(hour.posts)


def read(posts: Sequence[int]) -> list[list[bytes]]:
    """What the extension sends of pages: each reports what it saw, and asks once its version is known."""
    return [[observe(number) for number in posts], [view(number) for number in posts]]


def observe(number: int) -> bytes:
    """A reader opens a post."""
    return request(REGISTER, json.dumps(post(number)).encode())


def view(number: int) -> bytes:
    """The reader's extension asks what is known about it."""
    return request(VIEW, _about(number))


def investigate(number: int) -> bytes:
    """A reader with a key asks for an investigation."""
    return request(INVESTIGATE, _about(number), key=USER_KEY)


def _about(number: int) -> bytes:
    seen = post(number)
    ref = PostRef(platform="X", external_id=seen["externalId"])
    hashed = version_hash(content_hash(seen["observedContentText"]), occurrences_hash(()))
    return json.dumps({"postVersionId": str(version_id(post_id(ref), hashed))}).encode()


def describe(use: Use) -> str:
    """The use of each part, as text."""
    cpu = "  ".join(f"{part} {ms:.2f}" for part, ms in use.cpu_ms.items())
    stored = "  ".join(f"{place} {size:,.1f}" for place, size in use.stored.items())
    return f"CPU ms: {cpu}; {stored}"
