"""The result of stage 1: the article's metadata and its claims."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from contracts.jobs.values import ClaimHash, ClaimId, Code, Count, Document, JobId, Money, RiskTier


class Span(Document):
    """The place of a claim's words in the submitted text, half-open. Units: code points, and UTF-16 units."""

    start: Count
    end: Count
    start_utf16: Count
    end_utf16: Count

    @model_validator(mode="after")
    def _is_not_empty(self) -> Self:
        if not (self.start < self.end and self.start_utf16 < self.end_utf16):
            raise ValueError("a span must not be empty")
        return self


class ArticleMetadata(Document):
    """The article's metadata. Units: `extracted_text_length` in code points; `language` is BCP 47, `und` if unknown."""

    title: str | None
    source_url: str | None
    extracted_text_length: Count
    language: str
    author: str | None
    publisher: str | None
    published_at: str | None


class ExtractedClaim(Document):
    """One claim of the article."""

    claim_id: ClaimId
    claim_text: str
    canonical_claim: str
    claim_hash: ClaimHash
    is_central_to_thesis: bool
    claim_type: Code
    evaluability: Literal["evaluable", "partially_evaluable", "not_evaluable"]
    risk_tier: RiskTier
    domain: Code
    volatility: Literal["TIMELESS", "DATED", "SLOW", "FAST"]
    time_anchor: str | None
    spans: tuple[Span, ...] | None


class FurtherClaim(Document):
    """A claim beyond `max_claims`, which is not analysed. `cached`: the cache has an analysis."""

    claim_text: str
    canonical_claim: str
    claim_hash: ClaimHash
    spans: tuple[Span, ...] | None
    cached: bool


class ClaimExtraction(Document):
    """The outcome of stage 1."""

    job_id: JobId
    stage: Literal["stage1_extraction"]
    article_metadata: ArticleMetadata
    article_thesis: str | None
    cost: Money
    claims: tuple[ExtractedClaim, ...]
    more_claims: Annotated[tuple[FurtherClaim, ...], Field(max_length=50)]
