"""Decides which pictures of a post the model is shown. Every picture gets a fate with a reason. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from contracts.v1.parts import BlobRef, ImageOccurrence, Picture

MAX_ADDRESSES: Final = 10
MAX_BYTES: Final = 20_000_000
"""The limit of one picture. Source: requirements 2.13."""
MAX_BYTES_TOGETHER: Final = 30_000_000
"""The limit of all pictures together: 40 MB as base64, within the 50 MB that providers accept in one request."""


@dataclass(frozen=True, slots=True)
class Unavailable:
    """There is no usable picture at an address; `reason` is a short code."""

    reason: str


FetchOutcome = BlobRef | Unavailable


def select_addresses(occurrences: Iterable[ImageOccurrence]) -> Sequence[str]:
    """The addresses to fetch: each once, up to the limit."""
    return list(dict.fromkeys(occurrence.source_url for occurrence in occurrences))[:MAX_ADDRESSES]


def decide(occurrences: Iterable[ImageOccurrence], fetched: Mapping[str, FetchOutcome]) -> tuple[Picture, ...]:
    """The fate of each picture. Shapes: `fetched` has outcomes by address, without those that were not fetched."""
    shown: dict[str, int] = {}
    spent_bytes = 0
    fates: list[Picture] = []
    for occurrence in occurrences:
        place = occurrence.model_dump()
        match fetched.get(occurrence.source_url):
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


def omit_all(occurrences: Iterable[ImageOccurrence]) -> tuple[Picture, ...]:
    """The fates for a model that takes no pictures."""
    return tuple(
        Picture(**occurrence.model_dump(), status="omitted", reason="model_sees_none") for occurrence in occurrences
    )
