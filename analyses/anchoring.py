"""Anchor a claim in the text: its quote must be verbatim in the text, at exactly one place.

Otherwise words would be underlined that the author did not write there. Nothing is guessed: a repaired quote counts
only if it is verbatim in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from analyses.flagging import Rejection
from analyses.submission import WEB_URL
from contracts.composed import nfc
from contracts.v1.parts import ClaimPayload

CONTEXT_WORDS = 10

_TYPOGRAPHY = str.maketrans(
    {"\u201c": '"', "\u201d": '"', "\u2018": "'", "\u2019": "'", "\u2026": "..."}
    | {chr(code): "-" for code in range(0x2010, 0x2016)}
    | dict.fromkeys("\u200b\u200c\u200d\ufeff", "")
)
_LINK = re.compile(r"!?\[([^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*)\]\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*(?:\s+\"[^\"]*\")?\)")
_HALF_LINK = re.compile(r"\]\([^()\s]*\)|\[(?=[^\[\]]*\Z)")
_PICTURE = re.compile(r"\[(?:IMAGE(?:-[0-9]+)?:[0-9]+|Picture [0-9]+[^\[\]\n]*)\]")
"""A picture's placeholder in Markdown and in the model's message."""
_CELL_EDGE = re.compile(r"(?:^|(?<=\s))\|(?=\s|$)", re.MULTILINE)
_POWER = re.compile("(?<=[0-9])\\^(?=[-+\u2212\u2013]?[0-9])")
_LINE_START = re.compile(r"^[ \t]*(?:#{1,6}[ \t]+|>[ \t]?|[-*+][ \t]+|\d+[.)][ \t]+)+", re.MULTILINE)
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_WEB_URL = re.compile(WEB_URL)


def anchor(claim: ClaimPayload, text: str) -> ClaimPayload:
    """Replace quote and context by the text's own plain words, if that makes them verbatim.

    Shapes: unchanged if no reading of the quote is in the text. A context without a reading is cut from the text, if
    the quote occurs there once. Source: requirements 2.4.4.
    """
    quote = next(_verbatim_readings(claim.text, text), None)
    if quote is None:
        return claim
    context = next((each for each in _verbatim_readings(claim.context, text) if quote in each), None)
    if context is None and _occurs_once(quote, text):
        context = _extract_context(quote, text)
    return claim.model_copy(update={"text": quote, "context": claim.context if context is None else context})


def locate(claim: ClaimPayload, text: str) -> str:
    """A key for the quote's place in the text, independent of the context that a model submits.

    Shapes: the quote if it occurs once, else its offset; the context if that is ambiguous.
    """
    if _occurs_once(claim.text, text):
        return claim.text
    if _is_located(claim, text):
        return f"@{text.index(claim.context) + claim.context.index(claim.text)}"
    return claim.context


def check(claim: ClaimPayload, text: str) -> Rejection | None:
    """Reject a claim whose quote is not in the text or is ambiguous, or whose sources are not all web pages."""
    if not claim.text.strip() or claim.text not in text:
        return Rejection("The quote is not verbatim in the text.")
    if claim.context not in text:
        return Rejection("The context is not verbatim in the text.")
    if claim.text not in claim.context:
        return Rejection("The context does not contain the quote.")
    if not _occurs_once(claim.text, text) and not _is_located(claim, text):
        return Rejection("The quote occurs more than once and its context does not tell which one is meant.")
    if not claim.sources or not all(_WEB_URL.fullmatch(source.url) for source in claim.sources):
        return Rejection("Every source needs a public http or https address.")
    return None


def _is_located(claim: ClaimPayload, text: str) -> bool:
    """Whether the context identifies one occurrence of the quote."""
    return _occurs_once(claim.context, text) and _occurs_once(claim.text, claim.context)


def _occurs_once(part: str, whole: str) -> bool:
    first = whole.find(part)
    return first >= 0 and whole.find(part, first + 1) < 0


def _extract_context(quote: str, text: str) -> str:
    start = text.index(quote)
    before = text[:start].split(" ")[-CONTEXT_WORDS - 1 :]
    after = text[start + len(quote) :].split(" ")[: CONTEXT_WORDS + 1]
    return f"{' '.join(before)}{quote}{' '.join(after)}".strip()


def _verbatim_readings(given: str, text: str) -> Iterator[str]:
    """Readings of the words that are in the text; last, those that differ from a place in the text only by spaces."""
    yield from (each for each in _readings(given) if each.strip() and each in text)
    yield from filter(None, (_find_ignoring_spaces(each, text) for each in _readings(given)))


def _find_ignoring_spaces(given: str, text: str) -> str | None:
    """The only place in the text with the same characters: a line break is a space in Markdown, but not in the text."""
    packed = "".join(given.split())
    places = [locate for locate, character in enumerate(text) if character != " "]
    packed_text = text.replace(" ", "")
    if not packed or not _occurs_once(packed, packed_text):
        return None
    start = packed_text.index(packed)
    return text[places[start] : places[start + len(packed) - 1] + 1]


def _readings(given: str) -> Iterator[str]:
    """The words as given, then with plain typography, then with more and more Markdown removed."""
    yield given
    plain = _strip_typography(given)
    yield plain
    unpictured = _POWER.sub("", _PICTURE.sub("", _LINE_START.sub("", given)))
    unmarked = _CELL_EDGE.sub("", _HALF_LINK.sub("", _LINK.sub(r"\1", unpictured)))
    yield _strip_typography(_ESCAPE.sub(r"\1", unmarked))
    for marks in ("*", "*`", "*`_", "*`_~", "*`_~[]"):
        bare = re.sub(rf"(?<!\\)[{re.escape(marks)}]", "", unmarked)
        yield _strip_typography(_ESCAPE.sub(r"\1", bare))


def _strip_typography(given: str) -> str:
    return " ".join(nfc(given).translate(_TYPOGRAPHY).split())
