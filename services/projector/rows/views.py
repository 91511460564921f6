"""Rows that views and hints change: counters, credits and corroborations."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from typing import Final
from uuid import UUID

from services.projector.rows.table import AnyTable, Table, row


@dataclass
class PostCounters:
    """A post's counters."""

    id: UUID
    view_count: int
    unique_view_score: int
    hint_score: int
    last_viewed_at: datetime | None
    updated_at: datetime


@row
class ViewedVersion:
    """A version of a post, and since when enough readers vouch for it."""

    id: UUID
    post_id: UUID
    corroborated_at: datetime | None


@row
class Credit:
    """A view or a hint that counted. Shapes: a hint has its address range as `viewer_key`; `weight` is the credit."""

    post_id: UUID
    viewer_key: str
    bucket_day: date
    ip_range_key: str
    created_at: datetime
    weight: int = 1


@row
class Reporter:
    """A holder of an instance key who saw a version."""

    post_version_id: UUID
    reporter_key: str
    seen_at: datetime


@row
class ViewerRange:
    """An address range from which a version was seen."""

    post_version_id: UUID
    ip_range_key: str
    seen_at: datetime


POST_COUNTERS: Final = Table(
    "post", PostCounters, ("id",), ("view_count", "unique_view_score", "hint_score", "last_viewed_at", "updated_at")
)
VIEWED_VERSIONS: Final = Table("post_version", ViewedVersion, ("id",), ("corroborated_at",))
CREDITS: Final = Table("post_view_credit", Credit, ("post_id", "viewer_key", "bucket_day"))
REPORTERS: Final = Table("version_reporter", Reporter, ("post_version_id", "reporter_key"))
RANGES: Final = Table("version_range", ViewerRange, ("post_version_id", "ip_range_key"))

VIEW_TABLES: Final[tuple[AnyTable, ...]] = (POST_COUNTERS, CREDITS, REPORTERS, RANGES, VIEWED_VERSIONS)
