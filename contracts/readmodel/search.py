"""The tables of search: a document for each finished investigation, with all of its parts that a query can match.

A document is written once, when its investigation is complete and its version verified or corroborated, and only from
values that can no longer change: an update would rewrite a row of the largest index.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import Boolean, Column, Index, Table
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

search_document: Final = Table(
    "search_document",
    READMODEL,
    ref("investigation_id", "investigation.id", primary_key=True),
    uuid("post_id"),
    uuid("author_id", null=True),
    text("platform"),
    timestamp("checked_at"),
    number("claim_count"),
    Column("words", TSVECTOR, nullable=False),
    text("body"),
    Index(
        "search_document_newest_idx",
        sql("checked_at DESC"),
        sql("investigation_id DESC"),
        postgresql_include=["platform", "claim_count", "post_id"],
    ),
    Index(
        "search_document_author_idx",
        "author_id",
        sql("checked_at DESC"),
        sql("investigation_id DESC"),
        postgresql_include=["platform", "claim_count", "post_id"],
    ),
    Index(None, "post_id", postgresql_include=["platform", "claim_count"]),
    Index(
        "search_document_find_idx",
        "body",
        sql("search_signs(body)"),
        "words",
        postgresql_using="gin",
        postgresql_ops={"body": "gin_trgm_ops"},
    ),
    comment="The public record: one row for each COMPLETE investigation of a version that its site has verified or "
    "readers have corroborated. `author_id`: as the site says; NULL where only readers name one. `body`: lower case, "
    "one line each for title, author, address, findings and text; `words`: all of that but the text",
    postgresql_with={"autovacuum_vacuum_insert_scale_factor": 0.02},
)
