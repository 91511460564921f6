"""Make an article's claims from a model's answer: code gives each its keys, volatility, time and places.

Source: requirements FH-52, FH-54, FH-157, FH-158.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from hashlib import sha256
from typing import Final
from uuid import UUID

from analyses.claims.anchor import find_anchor
from analyses.claims.answers import ClaimAnswer, ExtractAnswer
from analyses.claims.guard import Guard, make_guard
from analyses.claims.normalise import NORMATIVE, VERSIONS, hash_claim
from analyses.claims.spans import Span, find_spans
from analyses.claims.volatility import Volatility, classify
from contracts.v1.ids import assertion_id

HASH_PREFIX: Final = "sha256:"
MAX_MORE: Final = 50


@dataclass(frozen=True, slots=True)
class ExtractedClaim:
    """A claim with everything that code derives from it. Shapes: `canonical` is empty if the text is not a claim."""

    found: ClaimAnswer
    canonical: str
    claim_hash: str
    guard: Guard
    volatility: Volatility
    spans: tuple[Span, ...] | None

    def assertion_id(self, language: str) -> UUID:
        guard = sha256(self.guard.canonical_json().encode()).hexdigest()
        return assertion_id(NORMATIVE, language, self.claim_hash.removeprefix(HASH_PREFIX), guard)


@dataclass(frozen=True, slots=True)
class Extraction:
    """The claims to analyse, and those beyond the limit, which are only listed."""

    language: str
    thesis: str | None
    claims: tuple[ExtractedClaim, ...]
    more_claims: tuple[ExtractedClaim, ...]


def extract_claims(answer: ExtractAnswer, text: str | None, reference_day: date, max_claims: int) -> Extraction:
    """The distinct claims of an answer, in its order. Shapes: `text` is the submitted text, None for an address."""
    distinct: dict[str, ExtractedClaim] = {}
    for found in answer.claims:
        claim = _describe(found, answer.language, text, reference_day)
        distinct.setdefault(claim.claim_hash, claim)
    claims = tuple(distinct.values())
    more = claims[max_claims : max_claims + MAX_MORE]
    return Extraction(answer.language, answer.thesis, claims[:max_claims], more)


def _describe(found: ClaimAnswer, language: str, text: str | None, reference_day: date) -> ExtractedClaim:
    canonical = VERSIONS[NORMATIVE](found.text, language)
    anchor = find_anchor(found.text, language, reference_day, found.time_anchor)
    return ExtractedClaim(
        found,
        canonical,
        hash_claim(canonical),
        make_guard(found.text, anchor),
        classify(found.text, language, found.volatility, reference_day),
        None if text is None else find_spans(found.text, text),
    )
