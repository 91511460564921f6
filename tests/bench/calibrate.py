"""Ask a second model about corrections whose truth is known, and add its answers to the file that sets its thresholds.

    python -m tests.bench.calibrate FILE --max-usd 5 --window 128000

The model is that of OPENERRATA_VALIDATOR_OPINION_*. What FILE holds already is not asked again, so that a run that was
cut short is continued. A price must be known if the model has one: OPENERRATA_MODEL_PRICES.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final

from analyses.opinion import PROMPT
from contracts.v1.opinion import Opinion
from kit.model_settings import ChatSettings, OpenAISettings
from kit.models.base import ModelError
from kit.models.choice import choose_opinion
from kit.settings import SettingsError, load
from services.validator.calibration import Answer, read_thresholds
from services.validator.opinion import SecondOpinion
from services.validator.settings import OpinionSettings
from tests.bench.budget import MONEY_LIMIT, BudgetedModel, ceilings_of
from tests.bench.casereport import MICRO
from tests.bench.facts import ENGLISH, facts_in, read_languages
from tests.bench.weak_proposer import WRONG, draw, say
from tests.support.fakes import MemoryTexts

SEED: Final = "openerrata/calibration/1"
EACH: Final = 700
"""Questions in a language, half of them with a right correction: 299 must be accepted without an error at least."""


@dataclass(frozen=True, slots=True)
class Question:
    """What the model is asked. Shapes: `is_right`: the quotations show the sentence to be wrong."""

    group: str
    sentence: str
    quotations: tuple[str, ...]
    is_right: bool


def list_questions(each: int = EACH) -> Iterator[Question]:
    """The same questions in the same order: in English wrong ones of ten ways, elsewhere right sentences."""
    for found in draw(true=each // 2 // len(WRONG) * len(WRONG), false=each - each // 2, seed=SEED):
        yield Question(ENGLISH, found.sentence, tuple(found.snippets), found.way == "right")
    for language in sorted(read_languages()):
        if language == ENGLISH:
            continue
        facts = [fact for of_relation in facts_in(language).values() for fact in of_relation]
        for number in range(each if facts else 0):
            random = Random(f"{SEED}/{language}/{number}")
            right, wrong = say(random.choice(facts), random)
            is_right = number % 2 == 0
            yield Question(language, wrong if is_right else right, (right,), is_right)


async def calibrate(model: SecondOpinion, name: str, questions: Iterable[Question], path: Path) -> int:
    """Ask what the file does not hold yet, as long as the model has money; how many were asked.

    Raises: ModelError.
    """
    done = _count(path, name)
    asked = 0
    with path.open("a", encoding="utf-8") as file:
        for number, each in enumerate(questions):
            if number < done:
                continue
            try:
                said = await model.ask(each.sentence, each.quotations, f"calibration/{number}", resume=False)
            except ModelError as error:
                if error.name != MONEY_LIMIT:
                    raise
                break
            file.write(_line(name, each, said).model_dump_json() + "\n")
            file.flush()
            asked += 1
    return asked


def _count(path: Path, name: str) -> int:
    """How many answers of this model to this prompt there are."""
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    return sum((each.model, each.prompt) == (name, PROMPT.version) for each in map(Answer.model_validate_json, lines))


def _line(name: str, question: Question, said: Opinion) -> Answer:
    """An answer that cannot be read is never accepted, as one that is sure of the contrary."""
    score = said.probability or 0.0
    return Answer(model=name, prompt=PROMPT.version, group=question.group, score=score, is_right=question.is_right)


def main() -> int:
    """Calibrate, and say from which probability on each language is believed."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.calibrate", description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--max-usd", type=float, required=True, help="what this run may cost at most")
    parser.add_argument("--window", type=int, required=True, help="the context window of the model, in tokens")
    arguments = parser.parse_args()
    try:
        settings, chat = load(OpinionSettings), load(ChatSettings)
        if settings.model is None:
            raise SettingsError("OPENERRATA_VALIDATOR_OPINION_MODEL is not set")
        if settings.base_url is not None:
            chat = chat.model_copy(update={"base_url": settings.base_url, "api_key": settings.api_key})
        chosen = choose_opinion(settings.model, load(OpenAISettings), chat)
        model = BudgetedModel(chosen, int(arguments.max_usd * MICRO), ceilings_of(chosen, arguments.window))
        opinion = SecondOpinion(model, MemoryTexts(), alternatives=settings.logprobs)
        asked = asyncio.run(calibrate(opinion, model.name.model, list_questions(), arguments.file))
        thresholds = read_thresholds(arguments.file, model.name.model, PROMPT.version)
        print(f"{asked} questions asked; believed from: {thresholds or 'nothing on'}")
    except SettingsError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
