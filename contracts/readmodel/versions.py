"""Versions: what exactly was on the page, with text, pictures and HTML stored once under their hashes.

The hash of a text, page or picture set is its primary key: the same content on two posts is one row, and a version
tells its content hash without a join.
"""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import ARRAY, CheckConstraint, Column, Index, PrimaryKeyConstraint, Table, Text, UniqueConstraint
from sqlalchemy import text as sql

from contracts.readmodel.columns import READMODEL, at, number, ref, text, uuid
from contracts.readmodel.columns import key as id_column

content_blob: Final = Table(
    "content_blob",
    READMODEL,
    text("content_hash", primary_key=True),
    text("content_text"),
    number("word_count"),
    at("created_at"),
)

html_blob: Final = Table(
    "html_blob",
    READMODEL,
    text("html_hash", primary_key=True),
    text("html_content"),
    at("created_at"),
)

image_occurrence_set: Final = Table(
    "image_occurrence_set",
    READMODEL,
    text("occurrences_hash", primary_key=True),
    at("created_at"),
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
    at("server_verified_at", null=True),
    at("first_seen_at"),
    at("last_seen_at"),
    number("seen_count"),
    uuid("correlation"),
    at("corroborated_at", null=True),
    UniqueConstraint("post_id", "version_hash"),
    UniqueConstraint("post_id", "content_hash", "occurrences_hash"),
    Index("post_version_newest_idx", "post_id", sql("last_seen_at DESC"), sql("id DESC")),
    postgresql_with={"fillfactor": 85},
)


def _version() -> Column[Any]:
    return ref("post_version_id", "post_version.id", primary_key=True, cascade=True)


def _html(name: str) -> Column[Any]:
    return ref(name, "html_blob.html_hash", null=True)


def _urls(name: str) -> Column[Any]:
    return Column(name, ARRAY(Text), nullable=False)


lesswrong_version_meta: Final = Table(
    "lesswrong_version_meta",
    READMODEL,
    _version(),
    text("slug"),
    text("title", null=True),
    _html("server_html_hash"),
    _html("client_html_hash"),
    _urls("image_urls"),
    number("karma", null=True),
    text("author_name", null=True),
    text("author_slug", null=True),
    _urls("tags"),
    at("published_at", null=True),
    at("created_at"),
    CheckConstraint("num_nonnulls(server_html_hash, client_html_hash) > 0", name="html"),
    Index(None, "slug"),
)

x_version_meta: Final = Table(
    "x_version_meta",
    READMODEL,
    _version(),
    text("tweet_id"),
    text("text"),
    text("author_handle"),
    text("author_display_name", null=True),
    _urls("media_urls"),
    number("like_count", null=True),
    number("retweet_count", null=True),
    at("posted_at", null=True),
    at("created_at"),
    Index(None, "tweet_id"),
)

substack_version_meta: Final = Table(
    "substack_version_meta",
    READMODEL,
    _version(),
    text("substack_post_id"),
    text("publication_subdomain"),
    text("slug"),
    text("title"),
    text("subtitle", null=True),
    _html("server_html_hash"),
    _html("client_html_hash"),
    _urls("image_urls"),
    text("author_name"),
    text("author_substack_handle", null=True),
    at("published_at", null=True),
    number("like_count", null=True),
    number("comment_count", null=True),
    at("created_at"),
    Index(None, "publication_subdomain", "slug"),
    Index(None, "substack_post_id"),
)

wikipedia_version_meta: Final = Table(
    "wikipedia_version_meta",
    READMODEL,
    _version(),
    text("page_id"),
    text("language"),
    text("title"),
    text("display_title", null=True),
    _html("server_html_hash"),
    _html("client_html_hash"),
    text("revision_id"),
    at("last_modified_at", null=True),
    _urls("image_urls"),
    at("created_at"),
    Index(None, "language", "page_id"),
    Index(None, "revision_id"),
)

verification_failure: Final = Table(
    "verification_failure",
    READMODEL,
    id_column("observation_id"),
    uuid("post_version_id", null=True),
    text("reason", null=True),
    text("detail", null=True),
    at("failed_at", null=True),
    Index(None, "post_version_id"),
    comment="Why the site did not confirm an observation, and the version it became; either may be known first",
)

version_reporter: Final = Table(
    "version_reporter",
    READMODEL,
    ref("post_version_id", "post_version.id", cascade=True),
    text("reporter_key"),
    at("seen_at"),
    PrimaryKeyConstraint("post_version_id", "reporter_key"),
    comment="Holders of an instance key who saw a version: half of a corroboration credit",
)

version_range: Final = Table(
    "version_range",
    READMODEL,
    ref("post_version_id", "post_version.id", cascade=True),
    text("ip_range_key"),
    at("seen_at"),
    PrimaryKeyConstraint("post_version_id", "ip_range_key"),
    comment="The first address ranges, hashed, from which a version was seen, until they are enough to corroborate it",
)
