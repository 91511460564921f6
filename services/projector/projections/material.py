"""What a fold needs besides facts and rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from services.projector.rows.attempts import Exchange


@dataclass(frozen=True, slots=True)
class Material:
    """Texts that the tables may not have yet, transcripts, and words that expire, all by hash.

    Shapes: there is an exchange for every transcript that the facts refer to; words may be gone, which is no error.
    """

    texts: Mapping[str, str] = field(default_factory=dict)
    exchanges: Mapping[str, Exchange] = field(default_factory=dict)
    words: Mapping[str, str] = field(default_factory=dict)
