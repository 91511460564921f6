"""The canonical form of a claim, from which its cache key derives. Source: requirements A.1 to A.4.

A version's algorithm never changes: another algorithm has another id. Only the newest one of a major version writes
keys; entries of the same major version stay until they expire.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from hashlib import sha256
from types import MappingProxyType
from typing import Final

from contracts.composed import nfc, nfd

NORMATIVE: Final = "v1norm1"

_NEGATIONS: Final = {
    **{f"{verb}n't": f"{verb} not" for verb in ("do", "does", "did")},
    "can't": "cannot",
    "won't": "will not",
    **{f"{verb}n't": f"{verb} not" for verb in ("should", "would", "is", "are", "was", "were", "have", "has", "had")},
}
_CONTRACTIONS: Final = {
    **_NEGATIONS,
    **{f"{word}'s": f"{word} is" for word in ("it", "that", "there")},
    "i'm": "i am",
    **{f"{word}'re": f"{word} are" for word in ("we", "they", "you")},
    **{f"{word}'ve": f"{word} have" for word in ("i", "we", "they", "you")},
    **{f"{word}'ll": f"{word} will" for word in ("i", "we", "they", "you")},
}
_DIGITS: Final = dict(
    zip("0123456789", ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"], strict=True)
)
_ABBREVIATIONS: Final = {"covid-19": "covid", "u.s.": "us", "u.k.": "uk"}
_ALL_BUT_WORDS_AND_APOSTROPHES: Final = re.compile(r"[^\w\s']")
_ALL_BUT_WORDS_AND_HYPHENS: Final = re.compile(r"[^\w\s-]")


def normalise_v1norm1(text: str, language: str) -> str:
    """The normative form: curly apostrophes become straight, a percent sign a word, 29 contractions are expanded."""
    text = _decompose(text).translate({0x2018: "'", 0x2019: "'", 0x25: " percent"})
    return _expand(text, _CONTRACTIONS)


def normalise_2016(text: str, language: str) -> str:
    """The algorithm of the later specification, for comparison: curly apostrophes and percent signs are dropped."""
    return _expand(_decompose(text), _NEGATIONS)


def normalise_1628(text: str, language: str) -> str:
    """The algorithm of the earlier specification, for comparison.

    Percent signs are dropped, and two abbreviations never match, as their punctuation is gone by then.
    """
    text = _collapse(_ALL_BUT_WORDS_AND_HYPHENS.sub("", nfc(text).lower()))
    text = re.sub(r"\b[0-9]\b", lambda digit: _DIGITS[digit[0]], text)
    if language == "en":
        for long, short in _ABBREVIATIONS.items():
            text = text.replace(long, short)
    return text


VERSIONS: Final[Mapping[str, Callable[[str, str], str]]] = MappingProxyType(
    {NORMATIVE: normalise_v1norm1, "v1norm1-2016": normalise_2016, "v1norm1-1628": normalise_1628}
)
"""Every version by its id, as a function of a claim's text and language. None is ever removed."""


def hash_claim(canonical: str) -> str:
    """The public hash of a canonical text: `sha256:` and 64 digits."""
    return f"sha256:{_digest(canonical)}"


def make_key(text: str, language: str, version: str = NORMATIVE) -> str | None:
    """The published key of a claim, with its version; None if its canonical form is empty.

    Raises: KeyError for an unknown version.
    """
    canonical = VERSIONS[version](text, language)
    return f"claim:{version}:{language}:{_digest(canonical)}" if canonical else None


def _decompose(text: str) -> str:
    """`text` in lower case and decomposed, so that its marks are characters of their own, which are no words.

    It is decomposed character by character: for a whole text the library would first sort marks in quadratic time.
    """
    return (text if text.isascii() else "".join(map(nfd, text))).lower()


def _expand(text: str, contractions: Mapping[str, str]) -> str:
    """Delete all but words, and expand contractions in one pass, as no expansion contains another contraction."""
    text = _ALL_BUT_WORDS_AND_APOSTROPHES.sub("", _collapse(text))
    pattern = rf"\b(?:{'|'.join(contractions)})\b"
    return _collapse(re.sub(pattern, lambda found: contractions[found[0]], text).replace("'", ""))


def _collapse(text: str) -> str:
    return " ".join(text.split())


def _digest(canonical: str) -> str:
    return sha256(canonical.encode()).hexdigest()
