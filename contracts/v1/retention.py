"""Deletion of texts that have expired."""

from __future__ import annotations

from datetime import datetime

from contracts.v1.codes import Code, Hour
from contracts.v1.event import OnceEvent


class RetentionPurged(OnceEvent, subject="retention.purged", key="slot", identity=("what",)):
    """All texts of one sort that expired up to `before` are deleted, and removed from the tables.

    `slot` is the hour of the sweep, so that two workers' sweeps of one hour are one event. The texts themselves are
    deleted once this event is stored; they are not read after their hour.
    """

    slot: Hour
    what: Code
    before: datetime
