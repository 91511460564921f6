"""The demo succeeds only if a reader was shown the expected findings, all of them and nothing else."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass

import pytest

from services.commands.demo import to_exit_status, watch_journey
from services.commands.demo_journey import Journey, RequestFailed, Result
from services.commands.demo_site import EXPECTED

ALL = tuple(sorted(EXPECTED))


@dataclass
class Shown(Journey):
    """A journey that ends with these claims; with None, in a refusal."""

    texts: tuple[str, ...] | None = ()

    async def play(self, observation: Mapping[str, object]) -> AsyncIterator[Result]:
        if self.texts is None:
            raise RequestFailed("the investigation failed")
        yield Result(tuple({"text": text, "summary": "No.", "sources": []} for text in self.texts))


@pytest.mark.parametrize(
    ("shown", "status", "said"),
    [
        (ALL, 0, "published"),
        (ALL[::-1], 0, "published"),
        (ALL[1:], 1, f"missing   {ALL[0]}"),
        ((), 1, f"missing   {ALL[0]}"),
        ((*ALL, "It rained."), 1, "unexpectedIt rained."),
        ((*ALL[1:], "It rained."), 1, "unexpectedIt rained."),
        (None, 1, "failed    the investigation failed"),
    ],
)
async def test_only_the_expected_findings_are_a_success(
    shown: tuple[str, ...] | None, status: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    correct = await watch_journey(Shown("http://gateway", "a-key", texts=shown), "http://gateway")
    assert to_exit_status(correct) == status
    assert said in capsys.readouterr().out


def test_a_demo_that_was_stopped_early_says_so() -> None:
    assert to_exit_status(None) == 130
