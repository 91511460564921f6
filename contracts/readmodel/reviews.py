"""Outside reviewers' verdicts on published findings, and the samples that they were asked about."""

from __future__ import annotations

from typing import Final, get_args

from sqlalchemy import Index, PrimaryKeyConstraint, Table
from sqlalchemy import text as sql

from contracts.readmodel.columns import READMODEL, day, key, number, one_of, ref, sequence, text, timestamp
from contracts.v1.review import ReviewVerdict

review_sample: Final = Table(
    "review_sample",
    READMODEL,
    key(),
    text("seed"),
    day("first_day"),
    day("last_day"),
    number("size"),
    number("drawn_from"),
    number("drawn"),
    timestamp("drawn_at"),
    comment="Findings that were drawn for review; `drawn` of `drawn_from`. Those that are not in `review_sample_claim` "
    "have been erased",
)

review_sample_claim: Final = Table(
    "review_sample_claim",
    READMODEL,
    ref("sample_id", "review_sample.id"),
    ref("claim_id", "claim.id", cascade=True, index=True),
    number("place"),
    PrimaryKeyConstraint("sample_id", "claim_id"),
    comment="A finding of a sample; `place` is by its hash, from 0",
)

outside_review: Final = Table(
    "review",
    READMODEL,
    ref("claim_id", "claim.id", cascade=True),
    text("reviewer"),
    ref("sample_id", "review_sample.id"),
    text("verdict"),
    day("decided_on"),
    sequence(),
    PrimaryKeyConstraint("claim_id", "reviewer"),
    one_of("verdict", get_args(ReviewVerdict)),
    Index("review_sequence_idx", "sequence"),
    Index("review_wrong_idx", "claim_id", postgresql_where=sql("verdict = 'WRONG'")),
    comment="What a reviewer from outside said last of a finding; `sequence` is that of the event",
    postgresql_with={"fillfactor": 80},
)
