"""Where each unit of the canonical text came from in the raw text, as the extension maps what it marks on a page.

Follows the same steps as `platforms.text.normalize`, one segment of text at a time. If both ever disagree on the text,
a position computed here points at the wrong words.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from contracts.composed import combining_class, nfc, nfd
from platforms.text import JS_SPACE, REPLACEMENTS, join_surrogates

_REPLACED: Final = dict(REPLACEMENTS)
_SPACE = re.compile(f"[{JS_SPACE}]")
_MOST_JOINED: Final = 4
"""Characters that can become one: no character decomposes into more."""


class NormalizedText(NamedTuple):
    """Canonical text with its origin.

    Units: `to_raw[i]` is the UTF-16 index in the raw text of the UTF-16 unit `i` of `text`; both units of a pair point
    to the start of their character. Non-decreasing.
    """

    text: str
    to_raw: tuple[int, ...]


class _Origin(NamedTuple):
    character: str
    raw_index: int


def normalize_with_index(raw: str) -> NormalizedText:
    """Normalise and say for every unit of the result which raw unit it stands for."""
    units: list[_Origin] = []
    for character, raw_index in _composed(raw):
        for replacement in _REPLACED.get(character, character):
            _append(units, replacement, raw_index)
    if units and units[-1].character == " ":
        units.pop()
    return NormalizedText(
        "".join(unit.character for unit in units),
        tuple(unit.raw_index for unit in units for _ in range(2 if unit.character > "\uffff" else 1)),
    )


def _append(units: list[_Origin], character: str, raw_index: int) -> None:
    if _SPACE.match(character):
        if units and units[-1].character != " ":
            units.append(_Origin(" ", raw_index))
        return
    if units and "\ud800" <= units[-1].character <= "\udbff" and "\udc00" <= character <= "\udfff":
        high = units.pop()
        units.append(_Origin(join_surrogates(high.character + character), high.raw_index))
        return
    units.append(_Origin(character, raw_index))


def _composed(raw: str) -> list[_Origin]:
    """Compose segment by segment, where no segment interacts with its neighbours."""
    result: list[_Origin] = []
    segment: list[_Origin] = []
    raw_index = 0
    for character in join_surrogates(raw):
        if segment and _starts_afresh(segment, character):
            result.extend(_compose_stretch(segment))
            segment = []
        segment.append(_Origin(character, raw_index))
        raw_index += 2 if character > "\uffff" else 1
    return result + _compose_stretch(segment)


def _starts_afresh(segment: list[_Origin], character: str) -> bool:
    if character.isascii():
        return True
    if combining_class(nfd(character)[0]):
        return False
    # A mark keeps what follows it apart; else the last few characters alone decide.
    if combining_class(nfd(segment[-1].character)[-1]):
        return True
    before = "".join(origin.character for origin in segment[-_MOST_JOINED:])
    return nfc(before + character) == nfc(before) + nfc(character)


def _compose_stretch(segment: list[_Origin]) -> list[_Origin]:
    """Map each composed character to the shortest run of raw ones that composes to it, or to the next one."""
    characters = [origin.character for origin in segment]
    composed = nfc("".join(characters))
    result: list[_Origin] = []
    cursor = 0
    for character in composed:
        result.append(_Origin(character, segment[min(cursor, len(segment) - 1)].raw_index))
        lengths = range(1, min(_MOST_JOINED, len(characters) - cursor) + 1)
        cursor += next((n for n in lengths if nfc("".join(characters[cursor : cursor + n])) == character), 1)
    return result
