"""Which of a post's pictures the model is shown, decided from what their addresses brought.

Every picture gets a fate, so that neither the model nor an operator has to guess why one is not there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from contracts.v1.parts import BlobRef, ImageOccurrence, Picture

MAX_ADDRESSES: Final = 10
MAX_BYTES: Final = 20_000_000
"""Of one picture. Source: specification 2.13."""
MAX_BYTES_TOGETHER: Final = 30_000_000
"""Of all pictures shown: 40 MB as base64, which providers still take in one request (50 MB), and so can be held."""


@dataclass(frozen=True, slots=True)
class Unavailable:
    """An address brought no picture that can be shown; `reason` is a short code."""

    reason: str


Brought = BlobRef | Unavailable


def attempted(occurrences: Iterable[ImageOccurrence]) -> Sequence[str]:
    """The addresses that are asked: each once, the first of them."""
    return list(dict.fromkeys(occurrence.source_url for occurrence in occurrences))[:MAX_ADDRESSES]


def decide(occurrences: Iterable[ImageOccurrence], brought: Mapping[str, Brought]) -> tuple[Picture, ...]:
    """The fate of each picture. Shapes: `brought` by address; an address that was not asked is not in it."""
    shown: dict[str, int] = {}
    spent_bytes = 0
    fates: list[Picture] = []
    for occurrence in occurrences:
        place = occurrence.model_dump()
        match brought.get(occurrence.source_url):
            case None:
                fate = Picture(**place, status="omitted", reason="too_many")
            case Unavailable(reason):
                fate = Picture(**place, status="unavailable", reason=reason)
            case BlobRef() as blob if blob.sha256 in shown:
                fate = Picture(**place, status="duplicate", same_as=shown[blob.sha256])
            case BlobRef() as blob if spent_bytes + blob.size_bytes > MAX_BYTES_TOGETHER:
                fate = Picture(**place, status="omitted", reason="too_large_together")
            case BlobRef() as blob:
                shown[blob.sha256] = occurrence.original_index
                spent_bytes += blob.size_bytes
                fate = Picture(**place, status="used", blob=blob)
        fates.append(fate)
    return tuple(fates)


def none_wanted(occurrences: Iterable[ImageOccurrence]) -> tuple[Picture, ...]:
    """The fates where the model cannot see."""
    return tuple(
        Picture(**occurrence.model_dump(), status="omitted", reason="model_sees_none") for occurrence in occurrences
    )
