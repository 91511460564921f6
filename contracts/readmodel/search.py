"""The tables of search: a document for each finished investigation, with every part of it that a query may contain.

A document is written once, when its investigation is complete and its version verified or corroborated, and only from
values that cannot change any more: an update would rewrite a row of the largest index.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import Boolean, Column, Date, Index, PrimaryKeyConstraint, Table, UniqueConstraint
from sqlalchemy import text as sql
from sqlalchemy.dialects.postgresql import TSVECTOR

from contracts.readmodel.columns import READMODEL, number, ref, text, timestamp, uuid

version_heading: Final = Table(
    "version_heading",
    READMODEL,
    ref("post_version_id", "post_version.id", primary_key=True, cascade=True),
    text("url"),
    text("title", null=True),
    uuid("author_id", null=True),
    text("author_name", null=True),
    Column("confirmed", Boolean, nullable=False, server_default=sql("false")),
    comment="What stands above a version: as it was first seen until its site has said it, then as the site said; "
    "later sightings do not change it",
)

search_bucket: Final = Table(
    "search_bucket",
    READMODEL,
    number("number", primary_key=True),
    timestamp("starts_at"),
    timestamp("newest_at"),
    number("documents"),
    UniqueConstraint("starts_at"),
    comment="Time cut into pieces of about 512 documents each, so that a search can stop at the newest pieces",
)

search_document: Final = Table(
    "search_document",
    READMODEL,
    ref("investigation_id", "investigation.id", primary_key=True),
    uuid("post_id"),
    uuid("author_id", null=True),
    text("platform"),
    timestamp("checked_at"),
    number("claim_count"),
    number("bucket"),
    Column("words", TSVECTOR, nullable=False),
    text("body"),
    Index(
        "search_document_newest_idx",
        sql("checked_at DESC"),
        sql("investigation_id DESC"),
        postgresql_include=["platform", "claim_count", "bucket", "post_id"],
    ),
    Index(
        "search_document_author_idx",
        "author_id",
        sql("checked_at DESC"),
        sql("investigation_id DESC"),
        postgresql_include=["platform", "claim_count", "post_id"],
    ),
    Index(None, "post_id"),
    Index(
        "search_document_find_idx",
        "bucket",
        sql("(bucket / 8)"),
        sql("(bucket / 64)"),
        sql("search_facets(platform, claim_count)"),
        "body",
        sql("search_grams(body)"),
        sql("search_pairs(string_to_array(body, ' '))"),
        "words",
        postgresql_using="gin",
        postgresql_ops={"body": "gin_trgm_ops"},
    ),
    comment="The public record: one row for each COMPLETE investigation of a version that its site has verified or "
    "readers have corroborated. `author_id`: as the site says; NULL where only readers name one. `body`: lower case, "
    "one line each for title, author, address, findings and text; `words`: all of that but the text",
    postgresql_with={"autovacuum_vacuum_insert_scale_factor": 0.02},
)

tally: Final = Table(
    "tally",
    READMODEL,
    text("scope", primary_key=True),
    number("posts"),
    number("flagged_posts"),
    number("claims"),
    comment="Distinct posts with a finished investigation: `all`, `platform:<name>` or `author:<id>`; kept by triggers "
    "of search_document",
)

tally_post: Final = Table(
    "tally_post",
    READMODEL,
    text("scope"),
    uuid("post_id"),
    number("investigations"),
    number("flagged"),
    PrimaryKeyConstraint("scope", "post_id"),
    Index(None, "post_id"),
    comment="Finished investigations of each post in a scope, so that each post counts once in `tally`",
)

tally_moment: Final = Table(
    "tally_moment",
    READMODEL,
    uuid("post_id"),
    Column("flagged", Boolean, nullable=False),
    timestamp("checked_at"),
    uuid("investigation_id"),
    text("platform"),
    timestamp("previous_at", null=True),
    timestamp("next_at", null=True),
    PrimaryKeyConstraint("post_id", "flagged", "checked_at", "investigation_id"),
    Index(None, "checked_at", postgresql_include=["flagged", "platform", "previous_at", "next_at"]),
    comment="Finished investigations of each post, and apart from them those that found something (`flagged`), with "
    "the ones before and after; kept by triggers of search_document",
    postgresql_with={"autovacuum_vacuum_insert_scale_factor": 0.02},
)

tally_day: Final = Table(
    "tally_day",
    READMODEL,
    Column("day", Date),
    text("platform"),
    Column("flagged", Boolean, nullable=False),
    Column("previous", Date),
    number("posts"),
    PrimaryKeyConstraint("day", "platform", "flagged", "previous"),
    comment="How many of `tally_moment` there are on each UTC day, by the day of the one before; -infinity: there is "
    "none before",
)
