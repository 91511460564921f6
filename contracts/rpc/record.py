"""Requests and answers of the older `public.*` procedures, which GraphQL has replaced.

They return the same rows as GraphQL, but leave out a missing timestamp instead of sending null.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from contracts.rpc.public import PublicPost
from contracts.rpc.status import ClaimOut
from contracts.rpc.values import Count, Instant, InstantText, NonEmpty, Optional, PlatformName, Request, Wire
from contracts.v1.parts import Provenance


class RecordQuestion(Request):
    """Input of `public.getInvestigation`."""

    investigation_id: NonEmpty


class PostQuestion(Request):
    """Input of `public.getPostInvestigations`."""

    platform: PlatformName
    external_id: NonEmpty


class ListQuestion(Request):
    """Input of `public.searchInvestigations`."""

    query: Optional[NonEmpty] = None
    platform: Optional[PlatformName] = None
    min_claim_count: Optional[Count] = None
    limit: Annotated[Count, Field(ge=1, le=100)] = 20
    offset: Count = 0


class MetricsQuestion(Request):
    """Input of `public.getMetrics`."""

    platform: Optional[PlatformName] = None
    author_id: Optional[NonEmpty] = None
    window_start: Optional[InstantText] = None
    window_end: Optional[InstantText] = None


class RecordOrigin(Wire):
    """Where the text came from."""

    provenance: Provenance
    server_verified_at: Instant | None = None

    @model_serializer(mode="wrap")
    def omit_null(self, write: SerializerFunctionWrapHandler) -> dict[str, object]:
        """Serialise without the fields that are None."""
        return {name: value for name, value in write(self).items() if value is not None}


class RecordInvestigation(Wire):
    id: NonEmpty
    corroboration_count: int
    checked_at: Instant
    prompt_version: str
    provider: str
    model: str
    origin: RecordOrigin


class RecordResult(Wire):
    """Answer of `public.getInvestigation`, if there is one."""

    investigation: RecordInvestigation
    post: PublicPost
    claims: tuple[ClaimOut, ...]


class ClaimSummary(Wire):
    id: NonEmpty
    summary: str


class PostInvestigation(Wire):
    """One of a post's investigations."""

    id: NonEmpty
    content_hash: NonEmpty
    origin: RecordOrigin
    corroboration_count: int
    checked_at: Instant
    claim_count: int
    claim_summaries: tuple[ClaimSummary, ...]


class PostRecord(Wire):
    """Answer of `public.getPostInvestigations`."""

    post: PublicPost | None
    investigations: tuple[PostInvestigation, ...]


class ListedInvestigation(PostInvestigation):
    """One of the investigations in a list of many posts'."""

    platform: PlatformName
    external_id: NonEmpty
    url: NonEmpty


class ListAnswer(Wire):
    """Answer of `public.searchInvestigations`."""

    investigations: tuple[ListedInvestigation, ...]
    has_more: bool


class MetricsAnswer(Wire):
    """Answer of `public.getMetrics`."""

    total_investigated_posts: int
    investigated_posts_with_flags: int
    fact_check_incidence: float
