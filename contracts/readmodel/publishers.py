"""Publishers of cited sources: their scores by epoch, and people's ratings."""

from __future__ import annotations

from typing import Final, get_args

from sqlalchemy import Index, PrimaryKeyConstraint, Table

from contracts.readmodel.columns import READMODEL, key, number, one_of, real, sequence, text, timestamp, uuid
from contracts.v1.publisher import RatingReason, ScoreReason

publisher: Final = Table(
    "publisher",
    READMODEL,
    key(),
    text("domain"),
    text("name", null=True),
    text("type"),
    number("correction_policy", null=True),
    number("editorial_standards", null=True),
    number("bias_transparency", null=True),
    number("longevity", null=True),
    number("corrections_count", null=True),
    real("correction_frequency", null=True),
    number("set_score", null=True),
    sequence("rated_sequence"),
    number("epoch"),
    real("track_record_score", null=True),
    real("accuracy", null=True),
    number("correct"),
    number("total"),
    number("correct_weight"),
    number("total_weight"),
    number("total_citations"),
    number("claim_count"),
    text("why", null=True),
    timestamp("last_updated"),
    sequence(),
    one_of("why", get_args(ScoreReason)),
    Index(None, "domain", unique=True),
    Index("publisher_names_idx", "domain", postgresql_ops={"domain": "text_pattern_ops"}),
    comment="A publisher of cited sources as its newest score and its newest rating leave it. `total` citations were "
    "judged, of `total_citations`; `sequence` is of the newest score, 0: it has none yet",
    postgresql_with={"fillfactor": 70},
)

publisher_score: Final = Table(
    "publisher_score",
    READMODEL,
    uuid("publisher_id"),
    number("epoch"),
    real("score"),
    real("accuracy"),
    number("correct"),
    number("total"),
    text("why"),
    timestamp("scored_at"),
    PrimaryKeyConstraint("publisher_id", "epoch"),
    one_of("why", get_args(ScoreReason)),
    comment="A publisher's score in an epoch; in an epoch without a row the one before it counts",
)

publisher_rating: Final = Table(
    "publisher_rating",
    READMODEL,
    uuid("publisher_id"),
    sequence(),
    text("type"),
    number("correction_policy", null=True),
    number("editorial_standards", null=True),
    number("bias_transparency", null=True),
    number("longevity", null=True),
    number("score", null=True),
    text("reason"),
    uuid("rated_by"),
    timestamp("rated_at"),
    PrimaryKeyConstraint("publisher_id", "sequence"),
    one_of("reason", get_args(RatingReason)),
    Index(None, "rated_at"),
    comment="What people said of a publisher; the newest one before an epoch's end of ratings counts in it",
)

score_epoch: Final = Table(
    "score_epoch",
    READMODEL,
    number("epoch", primary_key=True),
    number("publishers"),
    timestamp("closed_at"),
    sequence(),
    comment="An ISO week whose scores are all stored: 100 times its year plus its number",
)
