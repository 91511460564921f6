"""Audits of articles: intake, the cache, the whole pipeline, how they slow posts, and what they take at rest."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from kit.servers_in_use import Servers
from services.commands.shared import run
from tests.bench import audit_beside, audit_cache, audit_intake, audit_rest, audit_throughput
from tests.bench.report import Report
from tests.bench.rig import servers

PARTS: dict[str, Callable[[Servers, Path, Report], None]] = {
    "intake, each job stored durably before the answer": audit_intake.measure,
    "the cache": audit_cache.measure,
    "jobs with 3 claims, all services in one process, a model without latency": (
        lambda found, folder, report: run(audit_throughput.measure(found, report))
    ),
    "posts beside 20 jobs/s, in processes of their own": audit_beside.measure,
    "at rest, what the two services add": audit_rest.measure,
}


def bench(folder: Path, report: Report) -> None:
    """Each part over servers of its own."""
    for number, (title, measure) in enumerate(PARTS.items()):
        report.head(f"audits, {title}")
        place = folder / str(number)
        place.mkdir()
        with servers(place) as found:
            measure(found, place, report)
