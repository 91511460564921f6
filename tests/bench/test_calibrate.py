"""The answers that set the thresholds of second opinions: asked once, of this model, within the money there is."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Final

import pytest

from analyses.opinion import PROMPT
from contracts.transcript import Price
from contracts.v1.gates import Threshold
from services.validator.calibration import read_thresholds
from services.validator.opinion import SecondOpinion
from tests.bench.budget import BudgetedModel, Ceiling
from tests.bench.calibrate import EACH, calibrate, list_questions
from tests.support.fakes import MemoryTexts
from tests.unit.validator.test_opinion import Opinionated

CEILING: Final = Ceiling(Price(input=1_000, output=0, cached=0, cache_write=0), window=40_000)
"""A question costs 40 at most."""


def test_every_language_has_enough_questions_of_both_kinds() -> None:
    counts = Counter((each.group, each.is_right) for each in list_questions())
    groups = {group for group, _ in counts}
    assert "en" in groups
    assert all(counts[group, True] >= 299 and counts[group, False] >= 299 for group in groups)
    assert list(list_questions(20)) == list(list_questions(20))
    assert EACH >= 2 * 299


@pytest.mark.requirement("TR-49")
async def test_a_model_that_tells_right_from_wrong_gets_a_threshold(tmp_path: Path) -> None:
    """TR-49: A threshold of a second opinion keeps wrong ones to 1 % with 95 %, and small groups abstain"""
    path = tmp_path / "answers.jsonl"
    questions = [each for each in list_questions() if each.group == "en"]
    model = Opinionated(*(0.97 if each.is_right else 0.2 for each in questions))
    assert await calibrate(SecondOpinion(model, MemoryTexts()), "llama-4", questions, path) == len(questions)
    assert read_thresholds(path, "llama-4", PROMPT.version) == (Threshold(group="en", probability=0.97),)
    assert await calibrate(SecondOpinion(model, MemoryTexts()), "llama-4", questions, path) == 0


async def test_it_stops_where_the_money_ends_and_goes_on_there(tmp_path: Path) -> None:
    path, questions = tmp_path / "answers.jsonl", list(list_questions(20))
    model = Opinionated(*([0.9] * len(questions)))
    opinion = SecondOpinion(model, MemoryTexts())
    poor = SecondOpinion(BudgetedModel(model, 100, [CEILING]), MemoryTexts())
    assert await calibrate(poor, "llama-4", questions, path) == 3, "each costs 30, and with 10 left none is asked"
    assert len(model.asked) == 3
    assert await calibrate(opinion, "llama-4", questions, path) == len(questions) - 3
    assert len(path.read_text().splitlines()) == len(questions)
