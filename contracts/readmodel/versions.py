"""Versions: what exactly was on the page, with text, pictures and HTML stored once under their hashes.

The hash of a text, page or picture set is its primary key: the same content on two posts is one row, and a version has
its content hash without a join.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import Index, PrimaryKeyConstraint, Table, UniqueConstraint
from sqlalchemy import text as sql

from contracts.readmodel.columns import READMODEL, document, number, ref, text, texts, timestamp, uuid
from contracts.readmodel.columns import key as id_column

content_blob: Final = Table(
    "content_blob",
    READMODEL,
    text("content_hash", primary_key=True),
    text("content_text"),
    number("word_count"),
    timestamp("created_at"),
)

html_blob: Final = Table(
    "html_blob",
    READMODEL,
    text("html_hash", primary_key=True),
    text("html_content"),
    timestamp("created_at"),
)

image_occurrence_set: Final = Table(
    "image_occurrence_set",
    READMODEL,
    text("occurrences_hash", primary_key=True),
    timestamp("created_at"),
)

image_occurrence: Final = Table(
    "image_occurrence",
    READMODEL,
    ref("occurrences_hash", "image_occurrence_set.occurrences_hash", cascade=True),
    number("original_index"),
    number("normalized_text_offset"),
    text("source_url"),
    text("caption_text", null=True),
    PrimaryKeyConstraint("occurrences_hash", "original_index"),
)

post_version: Final = Table(
    "post_version",
    READMODEL,
    id_column(),
    ref("post_id", "post.id", cascade=True),
    text("version_hash"),
    ref("content_hash", "content_blob.content_hash"),
    ref("occurrences_hash", "image_occurrence_set.occurrences_hash"),
    timestamp("server_verified_at", null=True),
    timestamp("first_seen_at"),
    timestamp("last_seen_at"),
    number("seen_count"),
    uuid("correlation"),
    timestamp("corroborated_at", null=True),
    UniqueConstraint("post_id", "version_hash"),
    UniqueConstraint("post_id", "content_hash", "occurrences_hash"),
    Index("post_version_newest_idx", "post_id", sql("last_seen_at DESC"), sql("id DESC")),
    postgresql_with={"fillfactor": 85},
)


version_metadata: Final = Table(
    "version_metadata",
    READMODEL,
    ref("post_version_id", "post_version.id", cascade=True),
    text("platform"),
    ref("server_html_hash", "html_blob.html_hash", null=True),
    ref("client_html_hash", "html_blob.html_hash", null=True),
    texts("image_urls"),
    document("document"),
    timestamp("created_at"),
    PrimaryKeyConstraint("post_version_id", "platform"),
    comment="What a site says about a version, or a reader while it is silent; `document` is checked by its platform",
    postgresql_partition_by="LIST (platform)",
)

verification_failure: Final = Table(
    "verification_failure",
    READMODEL,
    id_column("observation_id"),
    uuid("post_version_id", null=True),
    text("reason", null=True),
    text("detail", null=True),
    timestamp("failed_at", null=True),
    uuid("post_id", null=True),
    Index(None, "post_version_id"),
    Index(None, "post_id"),
    comment="Why the site did not confirm an observation, and the version it became; either may be known first",
)

version_reporter: Final = Table(
    "version_reporter",
    READMODEL,
    ref("post_version_id", "post_version.id", cascade=True),
    text("reporter_key"),
    timestamp("seen_at"),
    PrimaryKeyConstraint("post_version_id", "reporter_key"),
    comment="Holders of an instance key who saw a version: half of a corroboration credit",
)

version_range: Final = Table(
    "version_range",
    READMODEL,
    ref("post_version_id", "post_version.id", cascade=True),
    text("ip_range_key"),
    timestamp("seen_at"),
    PrimaryKeyConstraint("post_version_id", "ip_range_key"),
    comment="The first address ranges, hashed, from which a version was seen, until they are enough to corroborate it",
)
