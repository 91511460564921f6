"""Claims as such, shared by all articles that make them, and their analyses.

Numbers, labels and cited domains are permanent. Words (a claim's own, explanations, quotes) expire at an hour: the fact
that their hour was purged, or that they were withdrawn, removes them, never the time itself. Words that could not be
read are missing too, which is no error.
"""

from __future__ import annotations

from typing import Final, get_args

from sqlalchemy import CheckConstraint, Column, Index, PrimaryKeyConstraint, SmallInteger, Table
from sqlalchemy import text as sql

from contracts.readmodel.columns import (
    READMODEL,
    boolean,
    key,
    number,
    one_of,
    real,
    ref,
    sequence,
    text,
    texts,
    timestamp,
    uuid,
)
from contracts.v1.assertion import InvalidationReason
from contracts.v1.job import Volatility

MAX_SAMPLES: Final = 5
MAX_QUOTES: Final = 3
MAX_QUOTE_WORDS: Final = 25
_LONG_QUOTE: Final = rf"([^ \t\n\r\x1e]+[ \t\n\r]+){{{MAX_QUOTE_WORDS}}}[^ \t\n\r\x1e]"
"""Quotes are joined by a character that also separates words, so a match never extends beyond one quote."""

assertion: Final = Table(
    "assertion",
    READMODEL,
    key(),
    text("published_key"),
    text("norm_version"),
    text("language"),
    text("canonical_sha256"),
    text("guard_sha256"),
    text("volatility"),
    number("requests"),
    timestamp("requested_at"),
    sequence(),
    text("canonical", null=True),
    timestamp("kept_until", null=True),
    one_of("volatility", get_args(Volatility)),
    CheckConstraint("(canonical IS NULL) = (kept_until IS NULL)", name="words"),
    Index(None, "published_key"),
    Index(None, "canonical_sha256"),
    Index(None, "kept_until"),
    comment="A claim as such. `canonical` are its normalised words while they are kept; `requests` counts the analyses "
    "that were requested, `requested_at` and `sequence` are of the newest request",
    postgresql_with={"fillfactor": 70},
)

assertion_sample: Final = Table(
    "assertion_sample",
    READMODEL,
    ref("assertion_id", "assertion.id", cascade=True),
    Column("place", SmallInteger, nullable=False, autoincrement=False),
    text("text"),
    timestamp("said_at"),
    timestamp("kept_until"),
    PrimaryKeyConstraint("assertion_id", "place"),
    CheckConstraint(f"place BETWEEN 1 AND {MAX_SAMPLES}", name="place"),
    Index(None, "kept_until"),
    comment="A claim as an article words it, of the newest requests; places are used in turn",
)

analysis: Final = Table(
    "analysis",
    READMODEL,
    key(),
    ref("assertion_id", "assertion.id", cascade=True),
    number("scenarios"),
    number("evidence"),
    text("depth"),
    text("volatility"),
    text("rollup"),
    number("recommended"),
    number("missing"),
    number("unavailable"),
    number("not_looked_up"),
    number("score_epoch"),
    text("model"),
    timestamp("analysed_at"),
    timestamp("expires_at"),
    timestamp("invalidated_at", null=True),
    text("invalidated_why", null=True),
    timestamp("kept_until", null=True),
    one_of("volatility", get_args(Volatility)),
    one_of("invalidated_why", get_args(InvalidationReason)),
    CheckConstraint("(invalidated_at IS NULL) = (invalidated_why IS NULL)", name="invalidated"),
    Index(None, "assertion_id", sql("analysed_at DESC")),
    Index(None, "analysed_at"),
    Index(None, "kept_until"),
    comment="An analysis of a claim; `id` is its run. `scenarios`, `evidence` and `depth` are its shape; `missing` and "
    "the two after it count evidence that was dropped, by why. `kept_until` NULL: its words are gone",
    postgresql_with={"fillfactor": 70},
)

scenario: Final = Table(
    "scenario",
    READMODEL,
    key(),
    ref("analysis_id", "analysis.id", cascade=True),
    number("ordinal"),
    text("description", null=True),
    texts("assumptions", null=True),
    CheckConstraint("(description IS NULL) = (assumptions IS NULL)", name="words"),
    Index(None, "analysis_id", "ordinal", unique=True),
    comment="One reading of a claim; its words while they are kept",
)

verdict: Final = Table(
    "verdict",
    READMODEL,
    ref("scenario_id", "scenario.id", primary_key=True, cascade=True),
    text("label"),
    real("probability", null=True),
    real("confidence"),
    number("supporting"),
    number("opposing"),
    number("families"),
    text("explanation", null=True),
    texts("uncertainty_factors", null=True),
    CheckConstraint("confidence BETWEEN 0 AND 1 AND probability BETWEEN 0 AND 1", name="shares"),
    CheckConstraint("(explanation IS NULL) = (uncertainty_factors IS NULL)", name="words"),
    comment="The estimate for a scenario, of which there is one; never a correction",
)

evidence: Final = Table(
    "evidence",
    READMODEL,
    key(),
    ref("analysis_id", "analysis.id", cascade=True),
    ref("scenario_id", "scenario.id", cascade=True, index=True),
    number("place"),
    boolean("supports"),
    text("text"),
    text("source_url"),
    text("source_title"),
    texts("quotes"),
    text("summary", null=True),
    real("relevance"),
    real("credibility_score"),
    text("published_at", null=True),
    number("family"),
    timestamp("kept_until"),
    CheckConstraint(f"cardinality(quotes) <= {MAX_QUOTES}", name="quotes"),
    CheckConstraint(f"array_to_string(quotes, chr(30)) !~ '{_LONG_QUOTE}'", name="quote_words"),
    Index(None, "analysis_id", "scenario_id"),
    comment="A source of a scenario with its quotes, each of at most 25 words; the row goes when its words go, what "
    "was cited stays in `citation`",
)

citation: Final = Table(
    "citation",
    READMODEL,
    ref("analysis_id", "analysis.id", cascade=True),
    number("place"),
    uuid("publisher_id"),
    text("domain"),
    text("url_sha256"),
    number("scenario"),
    boolean("supports"),
    real("relevance"),
    text("outcome"),
    real("score", null=True),
    number("family"),
    timestamp("cited_at"),
    PrimaryKeyConstraint("analysis_id", "place"),
    Index(None, "publisher_id", "cited_at"),
    Index(None, "url_sha256"),
    comment="That an analysis cites a source, without its words; `score` is the publisher's when it was made",
)
