"""A model of one's own, behind any server that speaks chat completions: does it answer, and how well does it judge?

    llama-server -m model.gguf --port 8080
    OPENERRATA_TEST_MODEL_URL=http://127.0.0.1:8080/v1 python -m pytest -s -m needs_model tests/bench

What it prints sets no threshold and admits no variant: small models show that the wire works.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final, Literal

import pytest

from kit.model_settings import ChatSettings, OpenAISettings
from kit.models.choice import choose_opinion
from services.validator.opinion import SecondOpinion
from tests.bench.calibrate import Question, list_questions
from tests.bench.facts import ENGLISH
from tests.support.fakes import MemoryTexts
from tests.unit.validator.test_opinion import Opinionated

SERVER: Final = os.environ.get("OPENERRATA_TEST_MODEL_URL")
EACH: Final = 40
Said = Literal["shown wrong", "not shown", "unreadable"]
Confusion = Mapping[tuple[bool, Said], int]


async def ask_all(opinion: SecondOpinion, questions: Iterable[Question]) -> Confusion:
    """How often each answer was given, by whether the quotations show the sentence to be wrong."""
    counted: Counter[tuple[bool, Said]] = Counter()
    for number, each in enumerate(questions):
        said = await opinion.ask(each.sentence, each.quotations, f"local/{number}", resume=False)
        counted[each.is_right, _name(said.probability)] += 1
    return counted


def _name(probability: float | None) -> Said:
    if probability is None:
        return "unreadable"
    return "shown wrong" if probability >= 0.5 else "not shown"


def write_matrix(confusion: Confusion) -> str:
    """A row for each truth, a column for each answer."""
    answers: tuple[Said, ...] = ("shown wrong", "not shown", "unreadable")
    rows = [f"{'':<24}" + "".join(f"{each:>14}" for each in answers)]
    for is_right, name in ((True, "the sentence is wrong"), (False, "nothing shows it")):
        rows.append(f"{name:<24}" + "".join(f"{confusion.get((is_right, each), 0):>14}" for each in answers))
    return "\n".join(rows)


def select_questions() -> list[Question]:
    """The same few, half of them with a right correction."""
    return [each for each in list_questions(EACH) if each.group == ENGLISH]


async def test_answers_are_counted_by_what_is_so() -> None:
    questions = select_questions()
    model = Opinionated(*(None if number == 0 else 0.9 for number, _ in enumerate(questions)))
    confusion = await ask_all(SecondOpinion(model, MemoryTexts()), questions)
    assert confusion == {(False, "unreadable"): 1, (False, "shown wrong"): 19, (True, "shown wrong"): 20}
    head, wrong, nothing = write_matrix(confusion).splitlines()
    assert head.split() == ["shown", "wrong", "not", "shown", "unreadable"]
    assert (wrong.split()[-3:], nothing.split()[-3:]) == (["20", "0", "0"], ["19", "0", "1"])


@pytest.mark.needs_model
@pytest.mark.skipif(SERVER is None, reason="OPENERRATA_TEST_MODEL_URL names no server of chat completions")
async def test_a_model_of_ones_own_answers(capsys: pytest.CaptureFixture[str]) -> None:
    name = os.environ.get("OPENERRATA_TEST_MODEL", "local")
    chat = ChatSettings(base_url=SERVER)
    model = choose_opinion(f"chat_completions:{name}", OpenAISettings(), chat)
    questions = select_questions()
    confusion = await ask_all(SecondOpinion(model, MemoryTexts()), questions)
    with capsys.disabled():
        print(f"\n{name} at {SERVER}\n{write_matrix(confusion)}")
    assert sum(confusion.values()) == len(questions)
    assert sum(number for (_, said), number in confusion.items() if said != "unreadable"), "no answer could be read"
