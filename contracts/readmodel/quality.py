"""The quality of audits and the catalogue: metrics by the hour, and error patterns by the week."""

from __future__ import annotations

from typing import Final, get_args

from sqlalchemy import CheckConstraint, PrimaryKeyConstraint, Table

from contracts.readmodel.columns import READMODEL, boolean, key, number, one_of, real, sequence, text, timestamp, uuid
from contracts.v1.pattern import PatternStatus

quality_metric: Final = Table(
    "quality_metric",
    READMODEL,
    text("type"),
    text("category"),
    timestamp("hour"),
    real("value"),
    real("target", null=True),
    boolean("at_most"),
    number("n"),
    PrimaryKeyConstraint("type", "category", "hour"),
    comment="A metric over the 24 hours before `hour`; `value` should reach `target`, or stay below it if `at_most`",
)

quality_day: Final = Table(
    "quality_day",
    READMODEL,
    text("type"),
    text("category"),
    timestamp("day"),
    number("samples"),
    real("mean"),
    real("low"),
    real("high"),
    number("missed"),
    PrimaryKeyConstraint("type", "category", "day"),
    comment="A metric's samples of a day two years ago, in their place; `missed` were beyond their target",
)

error_pattern: Final = Table(
    "error_pattern",
    READMODEL,
    key(),
    text("category"),
    text("root_cause"),
    uuid("claim_id", null=True),
    number("frequency"),
    number("epoch"),
    text("status"),
    timestamp("created_at"),
    timestamp("fixed_at", null=True),
    sequence(),
    one_of("status", get_args(PatternStatus)),
    CheckConstraint("(status = 'FIXED') = (fixed_at IS NOT NULL)", name="fixed"),
    comment="A cause of errors as its newest week left it, with its `frequency`; `claim_id` names an assertion of it",
)
