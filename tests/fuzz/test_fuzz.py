"""A short run of the fuzzer; `make fuzz` runs longer ones with seeds of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.generate import Strangers
from tests.fuzz.jobs import JobStrangers
from tests.fuzz.run import run
from tests.fuzz.run_jobs import run_jobs

SEED, REQUESTS, JOB_REQUESTS = 20_260_101, 10_000, 3_000


def test_the_same_seed_gives_the_same_requests() -> None:
    first, again = (list(Strangers(SEED, "key").requests(300)) for _ in range(2))
    assert first == again
    assert first != list(Strangers(SEED + 1, "key").requests(300))


@pytest.mark.requirement("3.1-03")
async def test_no_request_breaks_hangs_or_fills_the_system(tmp_path: Path) -> None:
    """No answer is an error of ours, none is missing, memory stays, and every accepted version is projected.

    3.1-03: Runtime validation at API boundary.
    """
    found = await run(tmp_path, seed=SEED, requests=REQUESTS)
    assert found.complaints() == []
    assert found.judged.statuses["200"] > REQUESTS / 10, "most of it is no noise"
    assert found.versions > REQUESTS / 100, "many observations are accepted"


def test_the_same_seed_gives_the_same_requests_to_the_job_api() -> None:
    first, again = (list(JobStrangers(SEED, "key", "admin").requests(300)) for _ in range(2))
    assert first == again


@pytest.mark.requirement("FH-29", "FH-149", "FH-154")
async def test_no_request_to_the_job_api_breaks_stores_or_charges(tmp_path: Path) -> None:
    """FH-29: Errors have one shape and never hold an article's words.
    FH-149: Errors are problem details.
    FH-154: An estimate buys and stores nothing.
    """
    found = await run_jobs(tmp_path, seed=SEED, requests=JOB_REQUESTS)
    assert found.complaints() == []
    assert found.judged.statuses.keys() >= {"200", "400", "401", "402", "403", "404", "405", "413"}
    assert found.judged.statuses["402"] > JOB_REQUESTS / 20, "many are right and lack only credit"
