"""When a label on a pinned record begins, is renewed and ends. Pure.

A label says that a published finding stands on exactly this record. Each ends by itself, so those of an instance that
has stopped do not outlive it for long.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from analyses.fact_check import FactCheck
from contracts.v1 import LabelIssued
from contracts.v1.label import LabelReason

ERRATUM: Final = "erratum"
ANALYSIS: Final = FactCheck.name
LIFETIME: Final = timedelta(days=30)
RENEWAL: Final = timedelta(days=7)
_TICK: Final = timedelta(milliseconds=1)
"""The precision of moments in labels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedResult:
    """The newest result of the fact check on a version whose record is pinned.

    `is_confirmed`: the record's proof was checked; `is_newest`: no confirmed version of its post was seen later;
    `is_hidden`: the site has since refused to show the post, or its author is hidden; `is_demo`: a fixed catalogue
    answered.
    """

    investigation_id: UUID
    post_id: UUID
    findings: int
    is_confirmed: bool
    is_newest: bool
    is_hidden: bool
    is_demo: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CurrentLabel:
    """The newest event of a label, of this `sequence`."""

    post_id: UUID
    investigation_id: UUID
    neg: bool
    cts: datetime
    exp: datetime
    sequence: int
    is_forgotten: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedRecord:
    """A record with what is known of it: a result, a label, or both."""

    uri: str
    cid: str
    result: PinnedResult | None
    label: CurrentLabel | None


def decide(record: PinnedRecord, now: datetime) -> LabelIssued | None:
    """The next event of a record's label, if one is due."""
    result, label = record.result, record.label
    if result is not None and _stands(result):
        if label is None or label.neg or label.exp <= now:
            return _issue(record, result, "PUBLISHED", now)
        return _issue(record, result, "RENEWED", now) if label.cts + RENEWAL <= now else None
    if label is None or label.neg or label.exp <= now:
        return None
    return _issue(record, label, _find_reason(result, label), now)


def _stands(result: PinnedResult) -> bool:
    return (
        result.findings > 0 and result.is_confirmed and result.is_newest and not result.is_hidden and not result.is_demo
    )


def _find_reason(result: PinnedResult | None, label: CurrentLabel) -> LabelReason:
    if label.is_forgotten:
        return "FORGOTTEN"
    if result is None or not result.is_newest:
        return "REPLACED"
    if result.is_hidden:
        return "NOT_PUBLIC"
    return "WITHDRAWN"


def _issue(record: PinnedRecord, about: PinnedResult | CurrentLabel, why: LabelReason, now: datetime) -> LabelIssued:
    label = record.label
    cts = now.replace(microsecond=now.microsecond // 1_000 * 1_000)
    if label is not None:
        cts = max(cts, label.cts + _TICK)  # of two labels the later one counts, whatever the clock does
    return LabelIssued(
        follows=0 if label is None else label.sequence,
        uri=record.uri,
        cid=record.cid,
        val=ERRATUM,
        neg=why not in ("PUBLISHED", "RENEWED"),
        cts=cts,
        exp=cts + LIFETIME,
        post_id=about.post_id,
        investigation_id=about.investigation_id,
        why=why,
    )
