"""Parse models' answers in the three steps of an audit; `schemas` has the schemas that the models get.

An answer is salvaged if that is safe: prose around the JSON is ignored, an invalid item is dropped, and a long text is
cut. Nothing is repaired by guessing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Annotated, Final, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from analyses.claims.labels import Label, read_label, read_share
from analyses.claims.scoring import Fallacy, Impact, Severity
from analyses.kinds import InvalidAnswer
from analyses.surrogates import replace_halves

MAX_CLAIMS: Final = 60
"""At most ten claims are analysed, and fifty more listed."""
MAX_EVIDENCE: Final = 40
"""The most items of a scenario that are looked up; of those found, only as many as the job's limit are kept."""

ModelT = TypeVar("ModelT", bound=BaseModel)

_UNSEEN: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_FENCED: Final = re.compile(r"```(?:json)?[ \t]*\r?\n(.*?)```", re.DOTALL)
_CODE: Final = re.compile(r"[a-z][a-z_]{0,39}")


def _shorten(most: int) -> BeforeValidator:
    def cut(value: object) -> object:
        return _UNSEEN.sub(" ", value).strip()[:most].rstrip() if isinstance(value, str) else value

    return BeforeValidator(cut)


def _valid_items(item: type[ModelT], most: int) -> BeforeValidator:
    def keep(values: object) -> tuple[ModelT, ...]:
        found: list[ModelT] = []
        for each in values if isinstance(values, list) else ():
            try:
                found.append(item.model_validate(each))
            except ValidationError:
                continue
        return tuple(found[:most])

    return BeforeValidator(keep)


def _lenient(read: Callable[[str], object]) -> BeforeValidator:
    """Parse a string with `read`, and leave anything else to the field's own check."""
    return BeforeValidator(lambda value: read(value) if isinstance(value, str) else value)


def _read_code(word: str) -> str:
    code = re.sub(r"[\s-]+", "_", word.strip().lower())
    return code if _CODE.fullmatch(code) else "other"


def _read_language(tag: str) -> str:
    primary = tag.strip().lower().split("-", 1)[0]
    return primary if re.fullmatch("[a-z]{2,3}", primary) else "und"


def _read_share(value: object) -> Decimal | None:
    return read_share(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _read_texts(values: object) -> object:
    return tuple(each for each in values if isinstance(each, str) and each.strip()) if isinstance(values, list) else ()


Line = Annotated[str, _shorten(500), Field(min_length=1)]
Paragraph = Annotated[str, _shorten(4_000)]
OptionalText = Annotated[str | None, _shorten(500)]
Code = Annotated[str, _lenient(_read_code)]
Share = Annotated[Decimal | None, BeforeValidator(_read_share)]
Lines = Annotated[tuple[Line, ...], BeforeValidator(_read_texts)]
Quotes = Annotated[tuple[Paragraph, ...], BeforeValidator(_read_texts)]
_Word = _lenient(_read_code)
_Capitals = _lenient(lambda word: word.strip().upper())
_Level = Annotated[Literal["low", "medium", "high"], _Word]


class _Answer(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)


class ClaimAnswer(_Answer):
    """One claim that a model found in an article; volatility and time anchor are hints."""

    text: Annotated[str, _shorten(2_000), Field(min_length=1)]
    is_central: bool = False
    claim_type: Code = "other"
    domain: Code = "other"
    evaluability: Annotated[Literal["evaluable", "partially_evaluable", "not_evaluable"], _Word] = "evaluable"
    risk_tier: Annotated[Literal["A", "B", "C"], _Capitals] = "B"
    volatility: Annotated[OptionalText, _Capitals] = None
    time_anchor: OptionalText = None
    queries: Lines = ()


class ExtractAnswer(_Answer):
    """The answer of the step `extract`."""

    language: Annotated[str, _lenient(_read_language)] = "und"
    thesis: OptionalText = None
    claims: Annotated[tuple[ClaimAnswer, ...], _valid_items(ClaimAnswer, MAX_CLAIMS)]


class EvidenceAnswer(_Answer):
    """One source for or against a scenario. Without `quotes`, `text` is the quote."""

    supports: bool
    url: Annotated[str, _shorten(2_048), Field(min_length=1)]
    title: OptionalText = None
    quotes: Quotes = ()
    text: Annotated[str | None, _shorten(4_000)] = None
    summary: Annotated[str | None, _shorten(1_000)] = None
    relevance: Share = None
    published_at: OptionalText = None

    @property
    def quoted(self) -> tuple[str, ...]:
        """The words that must be on the page."""
        return self.quotes or ((self.text,) if self.text else ())


class ScenarioAnswer(_Answer):
    """One reading of a claim under which it can be judged."""

    description: Line
    assumptions: Lines = ()
    probability: Share = None
    label: Annotated[Label | None, _lenient(read_label)] = None
    confidence: Share = None
    explanation: Paragraph = ""
    uncertainty_factors: Lines = ()
    evidence: Annotated[tuple[EvidenceAnswer, ...], _valid_items(EvidenceAnswer, MAX_EVIDENCE)] = ()


class AnalyseAnswer(_Answer):
    """The answer of the step `analyse`. Shapes: `recommended` counts scenarios from 1."""

    scenarios: Annotated[tuple[ScenarioAnswer, ...], Field(min_length=1)]
    recommended: int


class FallacyAnswer(_Answer):
    """A fallacy of the article."""

    type: Annotated[Fallacy, _Word]
    location: OptionalText = None
    why: Line
    severity: Annotated[Severity, _Word]


class FactorAnswer(_Answer):
    """A contextual factor."""

    factor: Line
    impact: Annotated[Impact, _Word]
    description: OptionalText = None


class ReasoningAnswer(_Answer):
    """The quality of the article's arguments."""

    evidence_strength: _Level
    logical_coherence: _Level
    transparency: _Level
    nuance: _Level


class AssessAnswer(_Answer):
    """The answer of the step `assess`. The score is a hint."""

    summary: Annotated[str, _shorten(4_000), Field(min_length=1)]
    confidence: Share = None
    credibility_score: Share = None
    thesis_follows: bool
    missing_context: bool
    contextual_factors: Annotated[tuple[FactorAnswer, ...], _valid_items(FactorAnswer, 20)] = ()
    fallacies: Annotated[tuple[FallacyAnswer, ...], _valid_items(FallacyAnswer, 20)] = ()
    reasoning_quality: ReasoningAnswer
    disclaimers: Lines = ()


def read_answer(answer: str, shape: type[ModelT]) -> ModelT:
    """Parse an answer by the first candidate that has the shape. Raises: InvalidAnswer."""
    reason = "it holds no JSON object"
    for candidate in _candidates(replace_halves(answer)):
        try:
            return shape.model_validate_json(candidate)
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            reason = f"{'.'.join(map(str, first['loc'])) or 'the answer'}: {first['type']}"
    raise InvalidAnswer(f"The answer does not have the asked-for shape: {reason}.")


def _candidates(answer: str) -> Iterator[str]:
    """The answer itself, the content of a fence, and the text between the outermost braces."""
    fenced = _FENCED.search(answer)
    texts = (answer, fenced[1] if fenced else "", answer[answer.find("{") : answer.rfind("}") + 1])
    return (text for text in dict.fromkeys(texts) if "{" in text)
