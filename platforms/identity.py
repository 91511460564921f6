"""The identity of a version: hashes over its text and over the places of its pictures.

The serialisation is byte-identical to JavaScript's `JSON.stringify`, so that the server and all clients compute the
same hash.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from contracts.v1.parts import ImageOccurrence
from platforms.text import js_trim, utf16_length

_SURROGATE = re.compile("[\ud800-\udfff]")
_REPLACEMENT_CHARACTER: Final = "\ufffd"


class InvalidOccurrences(ValueError):
    """The pictures of a post contradict one another or its text; `reason` says how."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class FittedOccurrences(NamedTuple):
    """The pictures that fit a text, renumbered from 0, and the reason for each one dropped."""

    kept: tuple[ImageOccurrence, ...]
    dropped_reasons: tuple[str, ...]


def sha256_hex(text: str) -> str:
    """Hash the UTF-8 bytes of a text; a lone surrogate counts as U+FFFD."""
    try:
        data = text.encode()
    except UnicodeEncodeError:
        data = _SURROGATE.sub(_REPLACEMENT_CHARACTER, text).encode()
    return hashlib.sha256(data).hexdigest()


def content_hash(text: str) -> str:
    """Hash a normalised text. Source: docs/protocol.md 3.3."""
    return sha256_hex(text)


def canonical_occurrences(occurrences: Iterable[ImageOccurrence], text: str) -> tuple[ImageOccurrence, ...]:
    """Order the pictures of a post and trim their captions.

    Shapes: result numbered 0, 1, 2, …, offsets non-decreasing and within the text.
    Raises: InvalidOccurrences. Source: docs/protocol.md 3.3.
    """
    ordered = _order(occurrences)
    length = utf16_length(text)
    for occurrence in ordered:
        if occurrence.normalized_text_offset > length:
            raise InvalidOccurrences(_describe_beyond(occurrence, length))
    return ordered


def fit_occurrences(occurrences: Iterable[ImageOccurrence], text: str) -> FittedOccurrences:
    """Keep the pictures that fit `text`, which may differ from the text they were observed in, and renumber them.

    Shapes: the kept ones always pass `canonical_occurrences` with the same text.
    """
    length = utf16_length(text)
    kept: list[ImageOccurrence] = []
    reasons: list[str] = []
    for occurrence in sorted(occurrences, key=_index):
        if occurrence.normalized_text_offset > length:
            reasons.append(_describe_beyond(occurrence, length))
        elif kept and occurrence.normalized_text_offset < kept[-1].normalized_text_offset:
            reasons.append(_describe_backwards(occurrence))
        else:
            kept.append(_trim(occurrence).model_copy(update={"original_index": len(kept)}))
    return FittedOccurrences(tuple(kept), tuple(reasons))


def occurrences_json(occurrences: Iterable[ImageOccurrence]) -> str:
    """Serialise the pictures for their hash.

    Raises: InvalidOccurrences. Source: docs/protocol.md 3.3.
    """
    wire = [
        {
            "originalIndex": occurrence.original_index,
            "normalizedTextOffset": occurrence.normalized_text_offset,
            "sourceUrl": occurrence.source_url,
            **({} if occurrence.caption_text is None else {"captionText": occurrence.caption_text}),
        }
        for occurrence in _order(occurrences)
    ]
    return _json_stringify(wire)


def occurrences_hash(occurrences: Iterable[ImageOccurrence]) -> str:
    """Hash the pictures of a post, in any order. Raises: InvalidOccurrences."""
    return sha256_hex(occurrences_json(occurrences))


def version_hash(content_hash: str, occurrences_hash: str) -> str:
    """Combine both hashes into the version's. Source: docs/protocol.md 3.3, requirements 2.8."""
    return sha256_hex(f"{content_hash}\n{occurrences_hash}")


def _order(occurrences: Iterable[ImageOccurrence]) -> tuple[ImageOccurrence, ...]:
    ordered: Sequence[ImageOccurrence] = sorted(occurrences, key=_index)
    previous_offset = 0
    for position, occurrence in enumerate(ordered):
        if occurrence.original_index != position:
            raise InvalidOccurrences(f"picture {position} is missing or given twice: indices must be 0, 1, 2, …")
        if occurrence.normalized_text_offset < previous_offset:
            raise InvalidOccurrences(_describe_backwards(occurrence))
        previous_offset = occurrence.normalized_text_offset
    return tuple(_trim(occurrence) for occurrence in ordered)


def _index(occurrence: ImageOccurrence) -> int:
    return occurrence.original_index


def _trim(occurrence: ImageOccurrence) -> ImageOccurrence:
    caption = js_trim(occurrence.caption_text or "") or None
    if caption == occurrence.caption_text:
        return occurrence
    return occurrence.model_copy(update={"caption_text": caption})


def _describe_beyond(occurrence: ImageOccurrence, length: int) -> str:
    offset = occurrence.normalized_text_offset
    return f"picture {occurrence.original_index} stands at {offset}, beyond the text's {length} units"


def _describe_backwards(occurrence: ImageOccurrence) -> str:
    return f"picture {occurrence.original_index} stands before the one it follows"


def _json_stringify(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return _SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
