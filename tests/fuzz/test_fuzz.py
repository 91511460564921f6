"""A short run of the fuzzer; `make fuzz` runs longer ones with seeds of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.generate import Strangers
from tests.fuzz.run import run

SEED, REQUESTS = 20_260_101, 10_000


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
