"""The second opinion: a model of another family decides whether the quotations alone show a sentence to be wrong. Pure.

The model sees only the sentence and the quotations, not the correction or any reasoning, so it cannot be talked into
agreeing. Its answer is accepted from a threshold on that was chosen from answers whose truth is known; below it, and
for languages without a threshold, the claim is not shown. Source: decision 0091.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from analyses.blocks import wrap_block
from analyses.fact_check_prompts import HANDLING
from analyses.kinds import make_prompt
from contracts.steps import StepName, Turns
from contracts.transcript import Research
from contracts.v1.gates import GateResult, OpinionPolicy
from contracts.v1.parts import Prompt

GATE: Final = "second_opinion"
STEP: Final[StepName] = "FACT_CHECK/opinion"
TURNS: Final = Turns(with_tools=1)
ALTERNATIVES: Final = 10
LONGEST: Final = 400
"""Units: tokens of an answer, some of which a model may use to reason."""

PROMPT: Final[Prompt] = make_prompt(
    "second-opinion-1",
    """\
You get one sentence and some quotations from public pages. Decide one question only: do the quotations, by what they \
say, show that the sentence is false?

They do not if they are about something else, another time, another place or another quantity; if the sentence can \
be read so that it agrees with them; if they merely lack what it says; or if they say what it says. Use no knowledge \
of your own: a sentence that you hold to be false is not shown to be false by quotations that do not say so.

Answer in two lines. The first is YES or NO. The second is a number from 0 to 1: how probable it is that YES is \
right.""",
)
QUESTION: Final = "Do the quotations show that the sentence is false? YES or NO, then the probability of YES."

_YES: Final = "YES"
_NO: Final = "NO"
_LEAST_MASS: Final = 0.5
"""If the two words together are less probable than this, the first token is not the answer."""
_LINES: Final = re.compile(
    r"\s*+\W{0,3}(yes|no)\b(?>\W*\s)(?:.*\S\s++)?\D*+(0(?:\.\d+)?|1(?:\.0+)?)\W*+", re.IGNORECASE
)
"""White space matches in one way only, since some models write hundreds of spaces."""


@dataclass(frozen=True, slots=True)
class Weighed:
    """An answer. Units: `probability` that the sentence is shown to be false; None: the answer could not be read."""

    probability: float | None


def write_parts(sentence: str, quotations: Sequence[str]) -> tuple[str, ...]:
    """The message: a note about handling, the sentence, the quotations, the question."""
    shown = json.dumps(list(quotations), ensure_ascii=False, indent=2)
    return (
        "\n\n".join(
            (
                HANDLING,
                f"The sentence:\n{wrap_block('SENTENCE', sentence, shown)}",
                f"The quotations (JSON):\n{wrap_block('QUOTATIONS', shown, sentence)}",
                QUESTION,
            )
        ),
    )


def weigh(alternatives: Mapping[str, float]) -> Weighed | None:
    """The answer by the probabilities of its first token; None if they are unknown or too low."""
    yes, no = (sum(p for token, p in alternatives.items() if _begins(word, token)) for word in (_YES, _NO))
    return Weighed(min(1.0, yes / (yes + no))) if yes + no >= _LEAST_MASS else None


def read(answer: str, lookups: Sequence[Research]) -> Weighed:
    """The answer by the number that it states; unreadable if word and number contradict each other."""
    found = _LINES.fullmatch(answer)
    if found is None:
        return Weighed(None)
    probability = float(found[2])
    agrees = (found[1].upper() == _YES) == (probability >= 0.5)
    return Weighed(probability) if agrees else Weighed(None)


def judge_opinion(probability: float | None, group: str, policy: OpinionPolicy) -> GateResult:
    """The gate's result for an answer about a sentence in this group of languages."""
    threshold = next((each.probability for each in policy.thresholds if each.group == group), None)
    if threshold is None:
        return GateResult(gate=GATE, outcome="ABSTAIN", code="OPINION_NOT_CALIBRATED")
    if probability is None:
        return GateResult(gate=GATE, outcome="ABSTAIN", code="OPINION_UNREADABLE")
    if probability < threshold:
        return GateResult(gate=GATE, outcome="ABSTAIN", code="OPINION_NOT_SURE")
    return GateResult(gate=GATE, outcome="PASS")


def _begins(word: str, token: str) -> bool:
    """Whether a token is the beginning of the word."""
    return word.startswith(token.upper()) if token else False
