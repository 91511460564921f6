"""How long a rebuild of the read model takes from a ledger that has grown, and how much memory.

The ledger is filled by COPY, as if its facts had been followed. The raw limit is that of the projector's bench.
"""

from __future__ import annotations

import resource
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import chain
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter, process_time
from typing import Final

from kit.database import migrate
from kit.embedded import EmbeddedStack
from kit.ordered import StoredMessage
from kit.telemetry import configure_logging
from services.commands.shared import run
from services.projector.facts.reading import read
from services.projector.ledger.append import Entry, make_entries
from services.projector.ledger.chain import GENESIS
from services.projector.rebuild.rebuild import rebuild
from tests.bench.bench_projector import raw_limit
from tests.bench.report import Report, of_raw
from tests.integration.readmodel_tables import ANALYSES, NoTexts, owner
from tests.unit.projector.histories import mixed

FACTS: Final = 100_000
SAMPLE: Final = 100
"""Posts from which is counted how many facts each has."""
BATCH: Final = 10_000
TARGET: Final = 0.3


async def fill(url: str, records: Sequence[StoredMessage]) -> None:
    """Write one stream's records to an empty ledger."""
    previous = GENESIS
    async with await owner(url) as db:
        for start in range(0, len(records), BATCH):
            batch = read(records[start : start + BATCH])
            entries = await make_entries(db, batch, previous, ledger_end=0)
            previous = entries[-1].hash
            async with db.cursor().copy(f"COPY ledger.fact ({', '.join(Entry._fields)}) FROM STDIN") as copy:
                for entry in entries:
                    await copy.write_row(entry)


def make_ledger(url: str, facts: int) -> tuple[int, int, float]:
    """Make facts and write them: how many, their bytes, and the raw limit in facts a second."""
    a_post = sum(len(tape.records) for tape in mixed(SAMPLE)) / SAMPLE
    tapes = [tape.records for tape in mixed(round(facts / a_post), 1)]
    for records in tapes:
        run(fill(url, records))
    records = list(chain.from_iterable(tapes))
    return len(records), sum(len(each.data) for each in records), run(raw_limit(url, records))


async def measure(url: str, facts: int, report: Report) -> None:
    """Fill a ledger, and rebuild from it."""
    await migrate(url)
    with ProcessPoolExecutor(1, get_context("spawn")) as elsewhere:  # where the facts take memory while they are made
        stored, size, raw = elsewhere.submit(make_ledger, url, facts).result()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with report.watched() as speed:
        began, spent = perf_counter(), process_time()
        done = await rebuild(url, NoTexts(), analyses=ANALYSES)
        took_s, cpu_s = perf_counter() - began, process_time() - spent
    if done != stored:
        raise RuntimeError(f"{done:,} of {stored:,} facts were replayed")
    grown_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    report.line(f"raw COPY of {stored:,} facts of {size // stored:,} bytes", raw, "facts/s")
    report.line("rebuild", done / took_s, "facts/s", ratio=done / took_s / raw, target=of_raw(TARGET), speed=speed)
    report.line("  in all", took_s, "s")
    report.line("  CPU of the projector", cpu_s / done * 1e6, "us each")
    report.line("  memory", grown_kib / 1024, "MiB more")


def bench(folder: Path, report: Report, facts: int = FACTS) -> None:
    """A rebuild from that many facts, or a few less or more."""
    report.head("rebuild")
    configure_logging((folder / "services.log").open("a"))
    with EmbeddedStack(folder / "data", services=("postgres",)) as stack:
        run(measure(stack.endpoints.database_url, facts, report))
