"""The catalogue: claims with a page, every change of an entry, and objections.

Words of edits and flags expire after five years; an entry then has again the words it was published with. None of this
is a correction: no table of the public record refers to it.
"""

from __future__ import annotations

from typing import Final, get_args

from sqlalchemy import CheckConstraint, Column, Computed, Index, Table
from sqlalchemy import text as sql
from sqlalchemy.dialects.postgresql import TSVECTOR

from contracts.readmodel.columns import (
    READMODEL,
    boolean,
    document,
    key,
    number,
    one_of,
    ref,
    sequence,
    text,
    texts,
    timestamp,
    uuid,
)
from contracts.v1.edit import EditType

SEARCHED: Final = (
    "to_tsvector('simple', wording || ' ' || domain || ' ' || coalesce(summary, ''))"
    " || jsonb_to_tsvector('simple', coalesce(evidence_summary, '[]'), '[\"string\"]')"
    " || jsonb_to_tsvector('simple', coalesce(scenario_summary, '[]'), '[\"string\"]')"
)
"""The searched text: the claim, excerpts of evidence, descriptions of scenarios."""

entry: Final = Table(
    "entry",
    READMODEL,
    key(),
    ref("assertion_id", "assertion.id", cascade=True),
    text("status"),
    number("version"),
    number("edit_count"),
    text("wording"),
    text("domain"),
    text("summary", null=True),
    text("published_wording"),
    text("published_domain"),
    timestamp("words_until", null=True),
    boolean("reworded"),
    texts("stale"),
    uuid("created_by"),
    timestamp("created_at"),
    timestamp("updated_at"),
    sequence(),
    sequence("staled_sequence"),
    sequence("renewed_sequence"),
    uuid("analysis_id", null=True),
    number("confidence_score", null=True),
    number("completeness_score", null=True),
    document("evidence_summary", null=True),
    texts("source_names", null=True),
    document("scenario_summary", null=True),
    number("scenario_count", null=True),
    timestamp("cache_updated_at", null=True),
    Column("searched", TSVECTOR, Computed(SEARCHED, persisted=True)),
    number("risk_score", null=True),
    one_of("status", ("PUBLISHED", "HIDDEN")),
    CheckConstraint("edit_count = version - 1", name="edit_count"),
    CheckConstraint("confidence_score BETWEEN 0 AND 100 AND completeness_score BETWEEN 0 AND 100", name="scores"),
    CheckConstraint("risk_score BETWEEN 0 AND 100", name="risk_score"),
    Index(None, "assertion_id", unique=True),
    Index("entry_newest_idx", sql("updated_at DESC"), "id"),
    Index("entry_searched_idx", "searched", postgresql_using="gin"),
    Index("entry_words_idx", "words_until", postgresql_where=sql("words_until IS NOT NULL")),
    Index("entry_analysis_idx", "analysis_id"),
    comment="A claim with a page, as its newest edit left it. Summaries and scores are of the newest analysis of its "
    "assertion, `analysis_id`, and change with it; `cache_updated_at` is when that was made. `risk_score`: half of it "
    "is confidence that lacks, half how evenly evidence is divided; without evidence that half is whole",
    postgresql_with={"fillfactor": 70},
)

edit: Final = Table(
    "edit",
    READMODEL,
    key(),
    ref("entry_id", "entry.id", cascade=True),
    number("version"),
    text("edit_type"),
    text("entity_type"),
    uuid("entity_id"),
    texts("fields"),
    boolean("hidden"),
    uuid("made_by", null=True),
    text("reason", null=True),
    document("before_state", null=True),
    document("after_state", null=True),
    timestamp("kept_until", null=True),
    timestamp("created_at"),
    one_of("edit_type", get_args(EditType)),
    CheckConstraint(
        "(reason IS NULL) = (kept_until IS NULL) AND (before_state IS NULL) = (kept_until IS NULL)"
        " AND (after_state IS NULL) = (kept_until IS NULL)",
        name="words",
    ),
    Index(None, "entry_id", "version", unique=True),
    Index(None, "kept_until"),
    comment="A change of an entry; its words while they are kept. `made_by` NULL: the system",
)

flag: Final = Table(
    "flag",
    READMODEL,
    key(),
    text("entity_type"),
    uuid("entity_id", null=True),
    text("issue_type"),
    uuid("account_id", null=True),
    text("claim_sha256", null=True),
    text("description", null=True),
    timestamp("kept_until", null=True),
    text("status"),
    uuid("resolved_by", null=True),
    text("note", null=True),
    timestamp("note_until", null=True),
    timestamp("created_at"),
    timestamp("resolved_at", null=True),
    one_of("status", ("OPEN", "ACCEPTED", "DISMISSED")),
    CheckConstraint("(status = 'OPEN') = (resolved_at IS NULL)", name="resolved"),
    CheckConstraint("(description IS NULL) = (kept_until IS NULL)", name="words"),
    CheckConstraint("(note IS NULL) = (note_until IS NULL)", name="note"),
    Index("flag_open_idx", "created_at", "id", postgresql_where=sql("status = 'OPEN'")),
    Index(None, "account_id"),
    Index(None, "entity_id"),
    Index(None, "kept_until"),
    Index(None, "note_until"),
    comment="An objection and what was decided; the words of people while they are kept",
)
