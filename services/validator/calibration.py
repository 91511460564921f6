"""Answers whose truth is known, from which the thresholds of second opinions are chosen.

A line of the file is one answer: `{"model": …, "prompt": …, "group": "en", "score": 0.97, "is_right": true}`. Answers
of another model or to another prompt are ignored.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from accuracy.thresholds import Sample, choose_thresholds
from contracts.v1.gates import Threshold
from kit.settings import SettingsError

_SETTING: Final = "OPENERRATA_VALIDATOR_OPINION_CALIBRATION"


class Answer(BaseModel):
    """One line. Units: `score` is the probability, 0 to 1, that the correction is right; `is_right`: whether it is."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())

    model: str
    prompt: str
    group: str
    score: float = Field(ge=0, le=1)
    is_right: bool


def read_thresholds(path: Path, model: str, prompt: str) -> tuple[Threshold, ...]:
    """The probability from which on an answer is believed, by group; a group with too few answers is left out.

    Raises: SettingsError: the file cannot be read.
    """
    samples = [
        Sample(each.score, each.is_right, each.group)
        for each in _read(path)
        if (each.model, each.prompt) == (model, prompt)
    ]
    chosen = sorted(choose_thresholds(samples).items())
    return tuple(Threshold(group=group, probability=found) for group, found in chosen if found is not None)


def _read(path: Path) -> Iterator[Answer]:
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{_SETTING}: {path} cannot be read: {error}") from error
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                yield Answer.model_validate_json(line)
            except ValidationError as error:
                first = error.errors(include_url=False, include_input=False)[0]
                where = ".".join(map(str, first["loc"])) or "it"
                raise SettingsError(f"{_SETTING}: line {number} of {path}: {where}: {first['msg']}") from None
