"""Posts, their authors and versions, as their sites and readers say."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from platforms.stored import Document
from services.projector.rows.table import AnyTable, Table, columns_but, row


@row
class Author:
    """A name on a platform: the first that a reader gave, until the site gives one; then the site's newest.

    `hidden_at`: since then the author asks not to be shown in public; None once the site shows a post of theirs again.
    """

    id: UUID
    platform: str
    platform_user_id: str
    display_name: str
    created_at: datetime
    updated_at: datetime
    confirmed: bool
    hidden_at: datetime | None = None


@dataclass
class Post:
    """A post with the first address and author that readers gave, until the site gives them; then the site's newest.

    Its counters belong to the other stream: see `rows.views`.
    """

    id: UUID
    platform: str
    external_id: str
    url: str
    author_id: UUID | None
    created_at: datetime
    updated_at: datetime
    confirmed: bool
    view_count: int = 0
    unique_view_score: int = 0
    hint_score: int = 0


@row
class Content:
    """A normalised text."""

    content_hash: str
    content_text: str
    word_count: int
    created_at: datetime


@row
class Html:
    """The HTML of a page."""

    html_hash: str
    html_content: str
    created_at: datetime


@row
class OccurrenceSet:
    """All pictures of a version."""

    occurrences_hash: str
    created_at: datetime


@row
class Occurrence:
    """One picture."""

    occurrences_hash: str
    original_index: int
    normalized_text_offset: int
    source_url: str
    caption_text: str | None


@dataclass
class Version:
    """A version, and how often it was seen."""

    id: UUID
    post_id: UUID
    version_hash: str
    content_hash: str
    occurrences_hash: str
    server_verified_at: datetime | None
    first_seen_at: datetime
    last_seen_at: datetime
    seen_count: int
    correlation: UUID


@row
class Heading:
    """The title, author and address shown above a version; `confirmed`: they come from its site."""

    post_version_id: UUID
    url: str
    title: str | None
    author_id: UUID | None
    author_name: str | None
    confirmed: bool


@row
class Metadata:
    """A version's metadata, from its site or else from a reader. Shapes: `document` as its platform validates it."""

    post_version_id: UUID
    platform: str
    server_html_hash: str | None
    client_html_hash: str | None
    image_urls: list[str]
    document: Document
    created_at: datetime


@row
class Failure:
    """Why an observation could not be confirmed, or which version it became; either may be known first."""

    observation_id: UUID
    post_version_id: UUID | None = None
    reason: str | None = None
    detail: str | None = None
    failed_at: datetime | None = None
    post_id: UUID | None = None


@row
class Anomaly:
    """A contradiction between reader and site."""

    observation_id: UUID
    kind: str
    post_id: UUID
    platform: str
    external_id: str
    observed: str
    canonical: str
    detected_at: datetime


AUTHORS: Final = Table("author", Author, ("id",), ("display_name", "updated_at", "confirmed", "hidden_at"))
POSTS: Final = Table("post", Post, ("id",), ("url", "author_id", "updated_at", "confirmed"))
CONTENTS: Final = Table("content_blob", Content, ("content_hash",))
HTMLS: Final = Table("html_blob", Html, ("html_hash",))
OCCURRENCE_SETS: Final = Table("image_occurrence_set", OccurrenceSet, ("occurrences_hash",))
OCCURRENCES: Final = Table("image_occurrence", Occurrence, ("occurrences_hash", "original_index"))
VERSIONS: Final = Table("post_version", Version, ("id",), ("server_verified_at", "last_seen_at", "seen_count"))
HEADINGS: Final = Table(
    "version_heading", Heading, ("post_version_id",), ("url", "title", "author_id", "author_name", "confirmed")
)
METADATA: Final = Table(
    "version_metadata",
    Metadata,
    ("post_version_id", "platform"),
    ("server_html_hash", "client_html_hash", "image_urls", "document"),
)
FAILURES: Final = Table("verification_failure", Failure, ("observation_id",), columns_but(Failure, "observation_id"))
ANOMALIES: Final = Table("integrity_anomaly", Anomaly, ("observation_id", "kind"))

VERSION_TABLES: Final[tuple[AnyTable, ...]] = (
    AUTHORS,
    POSTS,
    CONTENTS,
    HTMLS,
    OCCURRENCE_SETS,
    OCCURRENCES,
    VERSIONS,
    HEADINGS,
    METADATA,
    FAILURES,
    ANOMALIES,
)
"""Parents before children, as foreign keys require."""
