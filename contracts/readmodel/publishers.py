"""Publishers of cited sources: their scores by epoch, and what people say of them."""

from __future__ import annotations

from typing import Final

from sqlalchemy import BigInteger, Column, Float, Index, PrimaryKeyConstraint, Table, Uuid

from contracts.readmodel.columns import READMODEL, key, number, one_of, text, timestamp, uuid

SCORE_REASON: Final = ("INITIAL", "COMPUTED", "SET")
RATING_REASON: Final = ("FIRST_RATING", "MONTHLY_AUDIT", "POLICY_CHANGED", "OWNER_CHANGED", "COMPLAINT", "MISTAKE")


def _float(name: str, *, null: bool = False) -> Column[float]:
    return Column(name, Float(53), nullable=null)


def _sequence() -> Column[int]:
    return Column("sequence", BigInteger, nullable=False)


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
    _float("correction_frequency", null=True),
    number("set_score", null=True),
    Column("rated_sequence", BigInteger, nullable=False),
    number("epoch"),
    _float("track_record_score", null=True),
    _float("accuracy", null=True),
    number("correct"),
    number("total"),
    number("correct_weight"),
    number("total_weight"),
    number("total_citations"),
    number("claim_count"),
    text("why", null=True),
    timestamp("last_updated"),
    _sequence(),
    one_of("why", SCORE_REASON),
    Index(None, "domain", unique=True),
    Index("publisher_names_idx", "domain", postgresql_ops={"domain": "text_pattern_ops"}),
    comment="A publisher of cited sources as its newest score and its newest rating leave it. `total` citations were "
    "judged, of `total_citations`; `sequence` is of the newest score, 0: it has none yet",
    postgresql_with={"fillfactor": 70},
)

publisher_score: Final = Table(
    "publisher_score",
    READMODEL,
    Column("publisher_id", Uuid, nullable=False),
    number("epoch"),
    _float("score"),
    _float("accuracy"),
    number("correct"),
    number("total"),
    text("why"),
    timestamp("scored_at"),
    PrimaryKeyConstraint("publisher_id", "epoch"),
    one_of("why", SCORE_REASON),
    comment="A publisher's score in an epoch; in an epoch without a row the one before it counts",
)

publisher_rating: Final = Table(
    "publisher_rating",
    READMODEL,
    Column("publisher_id", Uuid, nullable=False),
    _sequence(),
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
    one_of("reason", RATING_REASON),
    Index(None, "rated_at"),
    comment="What people said of a publisher; the newest one before an epoch's end of ratings counts in it",
)

score_epoch: Final = Table(
    "score_epoch",
    READMODEL,
    number("epoch", primary_key=True),
    number("publishers"),
    timestamp("closed_at"),
    _sequence(),
    comment="An ISO week whose scores are all stored: 100 times its year plus its number",
)
