"""Claims get their keys from code, whatever a model says of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date

import pytest

from analyses.claims.answers import ExtractAnswer, read_answer
from analyses.claims.extraction import Extraction, extract_claims
from analyses.claims.normalise import hash_claim
from analyses.claims.volatility import Volatility

DAY = date(2026, 11, 15)
TEXT = "😀 The sky is blue. Prices rose last month."


def extract(*claims: Mapping[str, str], max_claims: int = 5, text: str | None = TEXT) -> Extraction:
    answer = read_answer(json.dumps({"language": "en", "thesis": "T", "claims": claims}), ExtractAnswer)
    return extract_claims(answer, text, DAY, max_claims)


@pytest.mark.requirement("FH-54", "FH-175")
def test_canonical_form_and_hash_are_computed() -> None:
    """FH-54: Canonical form and hash of a claim are computed, never a model's.
    FH-175: A model's hints never outrank words, evidence and formulas.
    """
    false = {"canonical_claim": "something else", "claim_hash": "sha256:00", "volatility": "TIMELESS"}
    (claim,) = extract({"text": "Prices rose last month.", **false, "time_anchor": "1999"}).claims
    assert claim.canonical == "prices rose last month"
    assert claim.claim_hash == hash_claim("prices rose last month")
    assert claim.guard.anchor == "2026-10"
    (fast,) = extract({"text": "The price is rising", "volatility": "TIMELESS"}).claims
    assert fast.volatility is Volatility.FAST


@pytest.mark.requirement("FH-52")
def test_claims_are_distinct_and_at_most_as_many_as_asked() -> None:
    """FH-52: Claims are distinct by hash and at most as many as asked."""
    found = extract(*({"text": text} for text in ("A is b", "a is B!", "C is d", "E is f")), max_claims=2)
    assert [claim.canonical for claim in found.claims] == ["a is b", "c is d"]


@pytest.mark.requirement("FH-157")
def test_claims_beyond_the_limit_are_listed() -> None:
    """FH-157: Claims beyond the limit are listed and never analysed."""
    found = extract(*({"text": f"Claim {number} holds"} for number in range(60)))
    assert len(found.claims) == 5
    assert [claim.canonical for claim in found.more_claims] == [f"claim {number} holds" for number in range(5, 55)]
    assert all(claim.claim_hash for claim in found.more_claims)
    assert len(extract(*({"text": f"Claim {number} holds"} for number in range(9))).more_claims) == 4


@pytest.mark.requirement("FH-158")
def test_places_are_found_in_submitted_text_only() -> None:
    """FH-158: A claim's places in the text are stated in code points and UTF-16 units."""
    (claim,) = extract({"text": "The sky is blue."}).claims
    assert claim.spans == ((2, 18, 3, 19),)
    assert extract({"text": "The sky is green."}).claims[0].spans is None
    assert extract({"text": "The sky is blue."}, text=None).claims[0].spans is None


@pytest.mark.requirement("FH-67")
def test_a_text_without_words_has_no_canonical_form() -> None:
    """FH-67: An empty canonical form is never a key."""
    (claim,) = extract({"text": "!!!"}).claims
    assert claim.canonical == ""
