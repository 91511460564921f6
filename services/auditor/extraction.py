"""Writes extracted claims as an event and as the document that the account reads."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Final

from analyses.claims import extraction as rules
from contracts.jobs import extraction as wire
from contracts.jobs.words import ArticleWords
from contracts.v1 import JobFetched, JobRequested
from contracts.v1.job import Evaluability, ExtractedClaim

EMPTY: Final = sha256(b"").hexdigest()
"""The hash of a claim of which nothing is left after normalisation."""
_EVALUABILITY: Final[Mapping[str, Evaluability]] = {
    "evaluable": "EVALUABLE",
    "partially_evaluable": "PARTIALLY_EVALUABLE",
    "not_evaluable": "NOT_EVALUABLE",
}


def describe_claims(found: rules.Extraction) -> tuple[ExtractedClaim, ...]:
    """The claims as the event has them: without words."""
    return tuple(
        ExtractedClaim(
            number=number,
            assertion_id=claim.assertion_id(found.language),
            claim_hash=claim.claim_hash.removeprefix(rules.HASH_PREFIX),
            central=claim.found.is_central,
            claim_type=claim.found.claim_type,
            evaluability=_EVALUABILITY[claim.found.evaluability],
            risk_tier=claim.found.risk_tier,
            domain=claim.found.domain,
            volatility=claim.volatility.value,
            anchor=claim.guard.anchor or None,
        )
        for number, claim in enumerate(found.claims, 1)
    )


def write_document(
    request: JobRequested,
    fetched: JobFetched,
    article: ArticleWords,
    found: rules.Extraction,
    cached: frozenset[str],
    cost: int,
) -> wire.ClaimExtraction:
    """The extraction as the account reads it. Shapes: `cached` are hashes of further claims that have an analysis."""
    return wire.ClaimExtraction(
        job_id=request.job_id,
        stage="stage1_extraction",
        article_metadata=wire.ArticleMetadata(
            title=article.title,
            source_url=article.address,
            extracted_text_length=fetched.characters,
            language=found.language,
            author=article.author,
            publisher=article.publisher,
            published_at=article.published.isoformat() if article.published else None,
        ),
        article_thesis=found.thesis,
        cost=cost,
        claims=tuple(_write_claim(number, claim) for number, claim in enumerate(found.claims, 1)),
        more_claims=tuple(
            wire.FurtherClaim(
                claim_text=claim.found.text,
                canonical_claim=claim.canonical,
                claim_hash=claim.claim_hash,
                spans=_write_spans(claim),
                cached=claim.claim_hash in cached,
            )
            for claim in found.more_claims
        ),
    )


def _write_claim(number: int, claim: rules.ExtractedClaim) -> wire.ExtractedClaim:
    return wire.ExtractedClaim(
        claim_id=f"C{number}",
        claim_text=claim.found.text,
        canonical_claim=claim.canonical,
        claim_hash=claim.claim_hash,
        is_central_to_thesis=claim.found.is_central,
        claim_type=claim.found.claim_type,
        evaluability=claim.found.evaluability,
        risk_tier=claim.found.risk_tier,
        domain=claim.found.domain,
        volatility=claim.volatility.value,
        time_anchor=claim.guard.anchor or None,
        spans=_write_spans(claim),
    )


def _write_spans(claim: rules.ExtractedClaim) -> tuple[wire.Span, ...] | None:
    return None if claim.spans is None else tuple(wire.Span(**span._asdict()) for span in claim.spans)
