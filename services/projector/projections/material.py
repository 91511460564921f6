"""What a fold needs besides facts and rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from contracts.v1.parts import EphemeralRef
from services.projector.rows.attempts import Exchange

T = TypeVar("T", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Material:
    """Texts that the tables may not have yet, transcripts, and words that expire, all by hash.

    Shapes: there is an exchange for every transcript that the facts refer to; words may be gone, which is no error.
    """

    texts: Mapping[str, str] = field(default_factory=dict)
    exchanges: Mapping[str, Exchange] = field(default_factory=dict)
    words: Mapping[str, str] = field(default_factory=dict)


def read_words(kind: type[T], ref: EphemeralRef, material: Material) -> T | None:
    """The words that a fact refers to, if they are there and can be read."""
    text = material.words.get(ref.sha256)
    if text is None:
        return None
    try:
        return kind.model_validate_json(text)
    except ValidationError:
        return None
