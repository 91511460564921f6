"""One fuzzing run over a whole system of its own, and what must hold at its end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from time import monotonic

import psutil

from tests.fuzz.drive import Judged, drive
from tests.fuzz.generate import Sent, Strangers
from tests.support.oracle import oracle
from tests.support.sites import Sites
from tests.support.system import system

KEY = "oe_the-key-of-this-instance"
MAX_GROWTH_BYTES = 96 * 1024 * 1024
"""Between a fifth of the requests and their end, of the process that serves them; its memories are full by then."""


@dataclass(frozen=True)
class Run:
    """What a run found. Units: bytes of resident memory after a fifth of the requests and at the end."""

    judged: Judged
    seconds: float
    versions: int
    projected: int
    refused: int
    memory: tuple[int, int]

    def complaints(self) -> list[str]:
        """What must not be; empty if all is well."""
        found = list(self.judged.faults)
        if self.projected < self.versions:
            found.append(f"{self.versions} versions were accepted, {self.projected} stand in the tables")
        if self.refused:
            found.append(f"the projector refused {self.refused} facts")
        if (growth := self.memory[1] - self.memory[0]) > MAX_GROWTH_BYTES:
            found.append(f"memory grew by {growth >> 20} MiB")
        return found


async def run(folder: Path, *, seed: int, requests: int, each: Callable[[], object] = lambda: None) -> Run:
    """Start everything, send the requests, and look at what they left; `each` is called for each request."""
    async with (
        Sites() as sites,
        system(
            folder,
            OPENERRATA_VERIFIER_WIKIPEDIA_URL=f"{sites.url}/w/api.php",
            OPENERRATA_VERIFIER_LESSWRONG_URL=f"{sites.url}/graphql",
            OPENERRATA_VERIFIER_SUBSTACK_URL=sites.url,
            OPENERRATA_GATEWAY_TRUSTED_PROXIES="1",
            OPENERRATA_SELECTOR_RUNS_PER_DAY="0",
        ) as running,
    ):
        process = await running.up()
        added = await running.run("keys", "add", "fuzz", "--key", KEY)
        assert added.code == 0, added.err
        strangers = Strangers(seed, KEY)
        versions: set[str] = set()

        def seen(version: str) -> None:
            versions.add(version)
            if len(strangers.versions) < 500:
                strangers.versions.append(version)

        def counted() -> Iterator[Sent]:
            for sent in strangers.requests(requests):
                each()
                yield sent

        stream = counted()
        began = monotonic()
        first = await drive(running.url, islice(stream, requests // 5), seen=seen)
        before = psutil.Process(process.pid).memory_info().rss
        rest = await drive(running.url, stream, seen=seen)
        seconds = monotonic() - began
        after = psutil.Process(process.pid).memory_info().rss
        judged = Judged(first.statuses + rest.statuses, [*first.faults, *rest.faults])
        async with oracle(running.database_url, running.nats_url) as looking:
            await looking.settled(within_s=120)
            projected = await looking.value(
                "SELECT count(*) FROM readmodel.post_version WHERE id::text = ANY (%s)", list(versions)
            )
            refused = await looking.value("SELECT count(*) FROM readmodel.refused_fact")
        return Run(judged, seconds, len(versions), int(projected), int(refused), (before, after))
