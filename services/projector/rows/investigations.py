"""Investigations: their state, their frozen input, and what was published."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from contracts.v1.parts import Origin
from lifecycle.progress import Progress
from services.projector.rows.table import Table, columns_but, row


@dataclass(slots=True, kw_only=True)
class Investigation(Progress):
    """How far an investigation has come; its fold works on a copy.

    Shapes: `content_diff` is what has changed since the parent, which this one updates; both are set or neither.
    """

    id: UUID
    post_version_id: UUID
    analysis: str
    origin: Origin
    created_at: datetime
    updated_at: datetime
    origin_id: UUID | None = None
    input_id: UUID | None = None
    prompt_hash: str | None = None
    provider: str | None = None
    model: str | None = None
    model_version: str | None = None
    rules: str | None = None
    gates: Mapping[str, object] | None = None
    variant: str | None = None
    requested_by: str | None = None
    key_source: str | None = None
    requested_sequence: int | None = None
    parent_investigation_id: UUID | None = None
    content_diff: str | None = None


@row
class Input:
    """The frozen input."""

    investigation_id: UUID
    provenance: str
    content_hash: str
    markdown_source: str
    markdown: str | None
    markdown_renderer_version: str | None
    created_at: datetime


@row
class Provenance:
    """The provenance of the frozen input."""

    investigation_id: UUID
    provenance: str


@row
class ImageBlob:
    """A stored picture, once by hash."""

    content_hash: str
    storage_key: str
    original_url: str
    mime_type: str
    size_bytes: int
    created_at: datetime


@row
class InvestigationImage:
    """A picture the model was shown."""

    investigation_id: UUID
    content_hash: str
    image_order: int


@row
class PictureFate:
    """The fate of one picture of the post, and the reason."""

    investigation_id: UUID
    original_index: int
    source_url: str
    fate: str
    content_hash: str | None
    same_as: int | None
    reason: str | None


@row
class Lease:
    """The worker of an open attempt."""

    investigation_id: UUID
    lease_owner: str
    attempt: int
    started_at: datetime


@row
class Round:
    """One request for a run, and whose fault it was if it failed; either may be known first."""

    investigation_id: UUID
    round: int
    requested_by: str | None = None
    key_source: str | None = None
    requested_at: datetime | None = None
    fault: str | None = None


@row
class Claim:
    """A published claim."""

    id: UUID
    investigation_id: UUID
    ordinal: int
    text: str
    context: str
    summary: str
    reasoning: str
    created_at: datetime


@row
class Source:
    """One source of a published claim."""

    claim_id: UUID
    ordinal: int
    url: str
    title: str
    snippet: str
    retrieved_at: datetime


@row
class Result:
    """A completed investigation as sent to readers; claims withdrawn later are derived in the database."""

    investigation_id: UUID
    post_version_id: UUID
    analysis: str
    provenance: str
    checked_at: datetime
    claim_count: int
    claims: list[Mapping[str, object]]
    withdrawn: tuple[()] = ()
    variant: str | None = None


_INVESTIGATION: Final = ("investigation_id",)

INPUTS: Final = Table("investigation_input", Input, _INVESTIGATION)
PROVENANCES: Final = Table("investigation_input", Provenance, _INVESTIGATION)
"""Looked up and never written: an input is long."""
INVESTIGATIONS: Final = Table(
    "investigation",
    Investigation,
    ("id",),
    columns_but(Investigation, "id", "post_version_id", "analysis", "origin", "origin_id", "created_at"),
)
LEASES: Final = Table("investigation_lease", Lease, _INVESTIGATION, columns_but(Lease, *_INVESTIGATION))
IMAGE_BLOBS: Final = Table("image_blob", ImageBlob, ("content_hash",))
IMAGES: Final = Table("investigation_image", InvestigationImage, ("investigation_id", "content_hash"))
PICTURE_FATES: Final = Table("investigation_picture", PictureFate, ("investigation_id", "original_index"))
ROUNDS: Final = Table(
    "investigation_round",
    Round,
    ("investigation_id", "round"),
    columns_but(Round, "investigation_id", "round"),
)
CLAIMS: Final = Table("claim", Claim, ("id",))
SOURCES: Final = Table("source", Source, ("claim_id", "ordinal"))
RESULTS: Final = Table("investigation_doc", Result, _INVESTIGATION)
