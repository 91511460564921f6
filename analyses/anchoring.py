"""A claim stands on words that are in the text, at one place and no other.

Everything shown to readers hangs on this: a quote that is not verbatim, or that could be either of two places, would
underline something the author did not write there. Nothing here guesses: a repair counts only if its result is
verbatim in the text.
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
"""What stands for a picture, in Markdown and in the message made of it."""
_CELL_EDGE = re.compile(r"(?:^|(?<=\s))\|(?=\s|$)", re.MULTILINE)
_POWER = re.compile("(?<=[0-9])\\^(?=[-+\u2212\u2013]?[0-9])")
_LINE_START = re.compile(r"^[ \t]*(?:#{1,6}[ \t]+|>[ \t]?|[-*+][ \t]+|\d+[.)][ \t]+)+", re.MULTILINE)
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_WEB_URL = re.compile(WEB_URL)


def anchor(claim: ClaimPayload, text: str) -> ClaimPayload:
    """The claim with quote and context brought to the text's own plain words, where that makes them verbatim.

    Shapes: unchanged if no reading of the quote is in the text. A context that cannot be read is taken from the text,
    if the quote occurs there once. Source: requirements 2.4.4.
    """
    quote = next(_verbatim(claim.text, text), None)
    if quote is None:
        return claim
    context = next((each for each in _verbatim(claim.context, text) if quote in each), None)
    if context is None and _once(quote, text):
        context = _surroundings(quote, text)
    return claim.model_copy(update={"text": quote, "context": claim.context if context is None else context})


def place(claim: ClaimPayload, text: str) -> str:
    """What tells this claim's words from the same words elsewhere in the text, whatever context came with them.

    Shapes: the quote itself where it stands once, else where it begins; the context where that does not tell.
    """
    if _once(claim.text, text):
        return claim.text
    if _placed(claim, text):
        return f"@{text.index(claim.context) + claim.context.index(claim.text)}"
    return claim.context


def check(claim: ClaimPayload, text: str) -> Rejection | None:
    """Refuse what no reader could be shown: words not in the text, an ambiguous place, a source that is no web page."""
    if not claim.text.strip() or claim.text not in text:
        return Rejection("The quote is not verbatim in the text.")
    if claim.context not in text:
        return Rejection("The context is not verbatim in the text.")
    if claim.text not in claim.context:
        return Rejection("The context does not contain the quote.")
    if not _once(claim.text, text) and not _placed(claim, text):
        return Rejection("The quote occurs more than once and its context does not tell which one is meant.")
    if not claim.sources or not all(_WEB_URL.fullmatch(source.url) for source in claim.sources):
        return Rejection("Every source needs a public http or https address.")
    return None


def _placed(claim: ClaimPayload, text: str) -> bool:
    """Whether the context tells which occurrence of the quote is meant."""
    return _once(claim.context, text) and _once(claim.text, claim.context)


def _once(part: str, whole: str) -> bool:
    first = whole.find(part)
    return first >= 0 and whole.find(part, first + 1) < 0


def _surroundings(quote: str, text: str) -> str:
    start = text.index(quote)
    before = text[:start].split(" ")[-CONTEXT_WORDS - 1 :]
    after = text[start + len(quote) :].split(" ")[: CONTEXT_WORDS + 1]
    return f"{' '.join(before)}{quote}{' '.join(after)}".strip()


def _verbatim(given: str, text: str) -> Iterator[str]:
    """Readings of the given words that are in the text; at last those that differ from one place in spaces alone."""
    yield from (each for each in _readings(given) if each.strip() and each in text)
    yield from filter(None, (_apart_from_spaces(each, text) for each in _readings(given)))


def _apart_from_spaces(given: str, text: str) -> str | None:
    """The one place in the text with the same characters: line breaks leave no space in it, but show in Markdown."""
    packed = "".join(given.split())
    places = [place for place, character in enumerate(text) if character != " "]
    packed_text = text.replace(" ", "")
    if not packed or not _once(packed, packed_text):
        return None
    start = packed_text.index(packed)
    return text[places[start] : places[start + len(packed) - 1] + 1]


def _readings(given: str) -> Iterator[str]:
    """The given words as they are, then in plain typography, then with less and less Markdown."""
    yield given
    plain = _plain(given)
    yield plain
    unpictured = _POWER.sub("", _PICTURE.sub("", _LINE_START.sub("", given)))
    unmarked = _CELL_EDGE.sub("", _HALF_LINK.sub("", _LINK.sub(r"\1", unpictured)))
    yield _plain(_ESCAPE.sub(r"\1", unmarked))
    for marks in ("*", "*`", "*`_", "*`_~", "*`_~[]"):
        bare = re.sub(rf"(?<!\\)[{re.escape(marks)}]", "", unmarked)
        yield _plain(_ESCAPE.sub(r"\1", bare))


def _plain(given: str) -> str:
    return " ".join(nfc(given).translate(_TYPOGRAPHY).split())
