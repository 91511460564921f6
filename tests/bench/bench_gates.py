"""What the gates stop of a proposer that is wrong in ten ways, and what they cost where nothing is wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from time import monotonic

from prometheus_client import CollectorRegistry

from contracts.v1.gates import GatePolicy
from kit.clock import SystemClock
from kit.documents.reading import Reader
from kit.sources import Pages
from kit.web import CONTACT_URL, GuardedHttpClient, Policy
from services.validator.sources import PageSources, read_words
from tests.bench.report import Report, Target
from tests.bench.weak_proposer import POLICY, Candidate, draw, run
from tests.support.fakes import MemoryTexts
from tests.support.sites import Answer, Sites

TRUE, FALSE = 1_000, 200
TIMED = 20
ROUNDS = 3
ONE_SITE = POLICY.model_copy(update={"families": 1})
"""All pages come from one site here, so one family is enough for every gate to be asked."""
MOST_OF_TODAY = 1.3


def bench(folder: Path, report: Report) -> None:
    """Report by way, then the validator's time with all gates as a ratio to its time without."""
    report.head("gates: a weak proposer before a reviewer that approves all")
    tally = asyncio.run(run(draw(true=TRUE, false=FALSE)))
    for line in tally.lines():
        report.note(line)
    if tally.false_flags:
        report.fail(f"{tally.false_flags} false flags are released")
    report.line("right corrections released", tally.released["right"] / tally.proposed["right"], "of all")
    asyncio.run(_report_cost(report))


async def _report_cost(report: Report) -> None:
    """The validator fetches and reads each page, as it does for every candidate; nothing but the gates differs."""
    right = list(draw(true=0, false=TIMED))
    async with Sites() as sites:
        cited = [_move(each, number, sites) for number, each in enumerate(right)]
        taken = [(await _time_s(cited, sites, None), await _time_s(cited, sites, ONE_SITE)) for _ in range(ROUNDS)]
    without, with_all = (median(each[at] for each in taken) for at in (0, 1))
    report.line(
        "a candidate with two pages, judged with all gates",
        1_000 * with_all / len(right),
        "ms",
        ratio=with_all / without,
        target=Target("<=", MOST_OF_TODAY, of="ratio"),
    )


def _move(candidate: Candidate, number: int, sites: Sites) -> Candidate:
    """The candidate with its pages on a site that can be fetched from."""
    pages = {}
    for nth, html in enumerate(candidate.pages.values()):
        path = f"/{number}/{nth}"
        sites.pages[path] = Answer(200, {"content-type": "text/html; charset=utf-8"}, html.encode())
        pages[f"{sites.url}{path}"] = html
    return replace(candidate, pages=pages)


async def _time_s(candidates: Sequence[Candidate], sites: Sites, policy: GatePolicy | None) -> float:
    """Seconds to validate all candidates, one after another, with no page cached."""
    rules = Policy(contact_url=CONTACT_URL, exempt_origins=frozenset({sites.url}))
    async with GuardedHttpClient(rules) as http:
        pages = Pages(http, partial(read_words, Reader()), SystemClock(), archive=MemoryTexts())
        began = monotonic()
        tally = await run(iter(candidates), policy, PageSources(pages, CollectorRegistry()))
        taken = monotonic() - began
        await pages.close()
    assert sum(tally.released.values()) == len(candidates), "every gate was asked"
    return taken
