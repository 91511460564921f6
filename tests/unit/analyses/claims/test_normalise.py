"""Keys of claims are those that the requirements print, whatever a text holds."""

from __future__ import annotations

import random
import re
import sys
import time
from hashlib import sha256

import pytest
import unicodedata2  # type: ignore[import-untyped,import-not-found,unused-ignore]  # a C extension without type stubs
from hypothesis import given
from pydantic import Field

from analyses.claims.normalise import NORMATIVE, VERSIONS, hash_claim, make_key
from tests.support.audit_cases import HOSTILE, Case, read_cases

LATER, EARLIER = "v1norm1-2016", "v1norm1-1628"
ALPHABET = tuple("abcdefgtn ABÉéßİΣσς\u0301\u0308\u0345\u093e\ufe0f\u200d-_.,!?0519५²½Ⅷ\u00a0\n\u2003中のا") + tuple(
    f" {each}" for each in ("don't", "doesn't", "can't", "won't", "isn't", "hadn't", "shouldn't", "COVID-19", "u.s.")
)


class Normalised(Case):
    input: str
    normative: str = Field(alias="v1norm1")
    later: str = Field(alias="v1norm1-2016")
    earlier: str = Field(alias="v1norm1-1628")
    sha256: str | None


CASES = read_cases("normalise", list[Normalised])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.input)
@pytest.mark.requirement("FH-60", "FH-61", "FH-63", "FH-64")
def test_the_printed_examples(case: Normalised) -> None:
    """FH-60: The later page's algorithm can be called as `v1norm1-2016`.
    FH-61: The earlier page's algorithm can be called as `v1norm1-1628`.
    FH-63: Four spellings of one claim share a key, its negation has another.
    FH-64: The normative form spells out a percentage.
    """
    assert VERSIONS[NORMATIVE](case.input, "en") == case.normative
    assert VERSIONS[LATER](case.input, "en") == case.later
    assert VERSIONS[EARLIER](case.input, "en") == case.earlier


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.input)
@pytest.mark.requirement("FH-55", "FH-67")
def test_a_key_is_version_language_and_hash(case: Normalised) -> None:
    """FH-55: A cache key is version, language and hash of the canonical text.
    FH-67: An empty canonical form is never a key.
    """
    key = None if case.sha256 is None else f"claim:v1norm1:en:{case.sha256}"
    assert make_key(case.input, "en") == key
    if case.sha256 is not None:
        assert hash_claim(case.normative) == f"sha256:{case.sha256}"


@pytest.mark.requirement("FH-58")
def test_a_language_has_keys_of_its_own() -> None:
    """FH-58: One text in two languages has two keys."""
    assert make_key("Biden won", "en") != make_key("Biden won", "de")


@given(HOSTILE)
@pytest.mark.requirement("FH-65", "FH-67")
def test_a_key_is_in_the_name_space_of_its_version(text: str) -> None:
    """FH-65: The exact variants never write under the normative name.
    FH-67: An empty canonical form is never a key.
    """
    for version in VERSIONS:
        key = make_key(text, "en", version)
        assert key is None or re.fullmatch(rf"claim:{re.escape(version)}:en:[0-9a-f]{{64}}", key)
        assert (key is None) == (VERSIONS[version](text, "en") == "")


@given(HOSTILE)
@pytest.mark.requirement("FH-62")
def test_a_canonical_text_stays_as_it_is(text: str) -> None:
    """FH-62: The normative form is the later page's algorithm with three additions."""
    canonical = VERSIONS[NORMATIVE](text, "en")
    assert re.fullmatch(r"[\w ]*", canonical)
    assert canonical == " ".join(canonical.split())
    assert VERSIONS[NORMATIVE](canonical, "en") == canonical


@pytest.mark.requirement("FH-59")
def test_versions_are_found_by_id_and_each_has_its_own_entries() -> None:
    """FH-59: Another algorithm has another version id; a minor version ends no entries."""
    assert set(VERSIONS) == {NORMATIVE, LATER, EARLIER}
    with pytest.raises(KeyError):
        make_key("a", "en", "v9norm9")
    assert len({make_key("a", "en", version) for version in VERSIONS}) == len(VERSIONS)


def published_later(text: str) -> str:
    """The later page's algorithm, line by line."""
    text = unicodedata2.normalize("NFD", text)
    text = text.lower()
    text = "".join(c for c in text if unicodedata2.category(c) != "Mn")
    text = re.sub(r"\s+", " ", text).strip()
    text = re.sub(r"[^\w\s']", "", text)
    for contraction, expansion in {
        "don't": "do not",
        "doesn't": "does not",
        "didn't": "did not",
        "can't": "cannot",
        "won't": "will not",
        "shouldn't": "should not",
        "wouldn't": "would not",
        "isn't": "is not",
        "aren't": "are not",
        "wasn't": "was not",
        "weren't": "were not",
        "haven't": "have not",
        "hasn't": "has not",
        "hadn't": "had not",
    }.items():
        text = re.sub(r"\b" + contraction + r"\b", expansion, text)
    text = text.replace("'", "")
    return re.sub(r"\s+", " ", text).strip()


def published_earlier(text: str, language: str) -> str:
    """The earlier page's algorithm, line by line."""
    text = unicodedata2.normalize("NFC", text)
    text = text.lower()
    text = re.sub(r"[^\w\s-]", "", text)
    text = re.sub(r"\s+", " ", text).strip()
    text = text.replace("%", " percent")
    for digit, word in enumerate(["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]):
        text = re.sub(rf"\b{digit}\b", word, text)
    if language == "en":
        text = text.replace("covid-19", "covid")
        text = text.replace("u.s.", "us")
        text = text.replace("u.k.", "uk")
    return text


def draw_texts(seed: int, number: int, alphabet: tuple[str, ...] = ALPHABET) -> list[str]:
    """Texts drawn from an alphabet, far faster than hypothesis draws them; a hundred at a time, kept apart by words."""
    draw = random.Random(seed)
    drawn = ["".join(draw.choices(alphabet, k=draw.randrange(16))) for _ in range(number)]
    return [" 中 ".join(drawn[at : at + 100]) for at in range(0, number, 100)]


@pytest.mark.requirement("FH-60", "FH-61")
def test_both_exact_variants_are_the_published_algorithms_on_100_000_texts() -> None:
    """FH-60: The later page's algorithm can be called as `v1norm1-2016`.
    FH-61: The earlier page's algorithm can be called as `v1norm1-1628`.
    """
    everything = tuple(map(chr, range(sys.maxunicode + 1)))
    drawn = draw_texts(1, 70_000, (*ALPHABET, "'", "’", "%", "it's")) + draw_texts(2, 30_000, everything)
    assert [text for text in drawn if VERSIONS[LATER](text, "en") != published_later(text)] == []
    assert [text for text in drawn if VERSIONS[EARLIER](text, "en") != published_earlier(text, "en")] == []
    assert [text for text in drawn if VERSIONS[EARLIER](text, "de") != published_earlier(text, "de")] == []


@given(HOSTILE)
@pytest.mark.requirement("FH-60", "FH-61")
def test_both_exact_variants_are_the_published_algorithms(text: str) -> None:
    """FH-60: The later page's algorithm can be called as `v1norm1-2016`.
    FH-61: The earlier page's algorithm can be called as `v1norm1-1628`.
    """
    assert VERSIONS[LATER](text, "en") == published_later(text)
    assert VERSIONS[EARLIER](text, "en") == published_earlier(text, "en")


@pytest.mark.requirement("FH-62")
def test_without_the_three_additions_the_normative_form_is_the_later_page_s() -> None:
    """FH-62: The normative form is the later page's algorithm with three additions."""
    drawn = draw_texts(3, 200_000)
    assert [text for text in drawn if VERSIONS[NORMATIVE](text, "en") != VERSIONS[LATER](text, "en")] == []


@pytest.mark.parametrize(
    ("short", "long"),
    [
        (f"{word}'{end}", f"{word} {full}")
        for word, end, full in (
            ("it", "s", "is"),
            ("that", "s", "is"),
            ("there", "s", "is"),
            ("i", "m", "am"),
            ("we", "re", "are"),
            ("they", "re", "are"),
            ("you", "re", "are"),
            ("i", "ve", "have"),
            ("we", "ve", "have"),
            ("they", "ve", "have"),
            ("you", "ve", "have"),
            ("i", "ll", "will"),
            ("we", "ll", "will"),
            ("they", "ll", "will"),
            ("you", "ll", "will"),
        )
    ],
)
@pytest.mark.requirement("FH-62")
def test_the_normative_form_expands_fifteen_more_contractions(short: str, long: str) -> None:
    """FH-62: The normative form is the later page's algorithm with three additions."""
    for text in (short, short.upper(), short.replace("'", "‘"), f"so {short}, then"):
        expected = text.lower().replace("‘", "'").replace(short, long).replace(",", "")
        assert VERSIONS[NORMATIVE](text, "en") == expected
    joined = f"x{short}"
    assert VERSIONS[NORMATIVE](joined, "en") == joined.replace("'", "")


@pytest.mark.parametrize("text", ["\u0301\u0323" * 100_000, "Σ\u0301" * 50_000, "don't" * 50_000, "\ud800" * 100_000])
def test_long_texts_take_no_time(text: str) -> None:
    started = time.thread_time()
    for normalise in VERSIONS.values():
        sha256(normalise(text, "en").encode())
    assert time.thread_time() - started < 5
