"""Deletion of what was kept until an hour."""

from __future__ import annotations

from datetime import datetime

from contracts.v1.codes import Code, Hour
from contracts.v1.event import OnceEvent


class RetentionPurged(OnceEvent, subject="retention.purged", key="slot", identity=("what",)):
    """Everything of one sort that was kept until `before` at the latest is deleted, and leaves the tables.

    `slot` is the hour of the sweep, so that two workers' sweeps of one hour are one. The texts themselves are removed
    once this event is stored; from their hour on they are not read.
    """

    slot: Hour
    what: Code
    before: datetime
