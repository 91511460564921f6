"""A fact that the projector refuses fails whichever test it happens in, unless that test is about it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.system import REFUSALS, system


@pytest.mark.parametrize("event", sorted(REFUSALS))
async def test_a_refused_fact_fails_the_test(tmp_path: Path, event: str) -> None:
    log = tmp_path / "one.log"
    log.write_text(json.dumps({"event": event, "level": "error", "stream": "ERRATA", "sequence": 7}))
    with pytest.raises(AssertionError, match=event):
        async with system(tmp_path) as running:
            running.logs.append(log)
    async with system(tmp_path, True) as running:
        running.logs.append(log)


def test_these_are_the_words_of_the_projector() -> None:
    code = (Path(__file__).parents[2] / "services/projector/store/one_by_one.py").read_text()
    assert all(f'"{event}"' in code for event in REFUSALS)
