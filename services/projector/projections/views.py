"""Which views count towards a post's score, and when readers corroborate a version: the order of the views decides.

One credit for each viewer, post and UTC day; for each address range at most a set number for a post and day. A view
that gets no credit leaves no trace in these limits, so the same viewer may earn it later from another range.

A version is corroborated by the first holder of an instance key who sees it, or by viewers of a set number of address
ranges. Address ranges are kept only until that number is reached.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date
from typing import Final
from uuid import UUID

from contracts.v1 import PostViewed
from services.projector.facts.fact import Fact
from services.projector.rows import views as rows
from services.projector.rows.table import RowKey, Tables

RangeDay = tuple[UUID, str, date]

_POST: Final = rows.POST_COUNTERS.by()
_VERSION: Final = rows.VIEWED_VERSIONS.by()
_RANGE: Final = rows.RANGES.by("post_version_id")
_VIEWER_DAY: Final = rows.CREDITS.by()
_RANGE_DAY: Final = rows.CREDITS.by("post_id", "ip_range_key", "bucket_day")


@dataclass(frozen=True, slots=True)
class ViewRules:
    """What views are worth.

    `credit_cap`: credits of one address range for a post and day. `corroborating_ranges`: so many address ranges
    corroborate a version.
    """

    credit_cap: int = 10
    corroborating_ranges: int = 3


VIEW_RULES: Final = ViewRules()


def find_row_keys(fact: Fact) -> Sequence[RowKey]:
    """The rows that a view is about."""
    if not isinstance(view := fact.event, PostViewed):
        return ()
    day = _day(fact)
    return (
        (_POST, view.post_id),
        (_VERSION, view.version_id),
        (_RANGE, view.version_id),
        (_VIEWER_DAY, (view.post_id, view.viewer_key, day)),
        (_RANGE_DAY, (view.post_id, view.ip_range_key, day)),
    )


def fold(tables: Tables, facts: Iterable[Fact], rules: ViewRules) -> int:
    """Count views in the order of the log; returns how many are of unknown versions, and count for nothing."""
    unknown = 0
    spent = Counter((row.post_id, row.ip_range_key, row.bucket_day) for row in tables[rows.CREDITS].current)
    ranges = Counter(row.post_version_id for row in tables[rows.RANGES].current)
    for fact in facts:
        if isinstance(view := fact.event, PostViewed):
            version = tables[rows.VIEWED_VERSIONS].get(view.version_id)
            known = version is not None and version.post_id == view.post_id
            post = tables[rows.POST_COUNTERS].edit(view.post_id) if known else None
            if version is None or post is None:
                unknown += 1
                continue
            _corroborate(tables, fact, view, version, ranges, rules)
            _count(tables, fact, view, post, spent, rules)
    return unknown


def _corroborate(
    tables: Tables, fact: Fact, view: PostViewed, version: rows.ViewedVersion, ranges: Counter[UUID], rules: ViewRules
) -> None:
    enough = view.reporter_key is not None
    if view.reporter_key is not None:
        tables[rows.REPORTERS].add(rows.Reporter(version.id, view.reporter_key, fact.at))
    is_new = tables[rows.RANGES].get((version.id, view.ip_range_key)) is None
    if is_new and ranges[version.id] < rules.corroborating_ranges:
        tables[rows.RANGES].add(rows.ViewerRange(version.id, view.ip_range_key, fact.at))
        ranges[version.id] += 1
        enough = enough or ranges[version.id] == rules.corroborating_ranges
    if enough and version.corroborated_at is None:
        tables[rows.VIEWED_VERSIONS].put(replace(version, corroborated_at=fact.at))
        tables.listable.setdefault(version.id)


def _count(
    tables: Tables, fact: Fact, view: PostViewed, post: rows.PostCounters, spent: Counter[RangeDay], rules: ViewRules
) -> None:
    day = _day(fact)
    range_day = (post.id, view.ip_range_key, day)
    has_credit = tables[rows.CREDITS].get((post.id, view.viewer_key, day)) is not None
    earns = not has_credit and spent[range_day] < rules.credit_cap
    if earns:
        spent[range_day] += 1
        tables[rows.CREDITS].put(rows.Credit(post.id, view.viewer_key, day, view.ip_range_key, fact.at))
    post.view_count += 1
    post.unique_view_score += earns
    post.last_viewed_at = max(post.last_viewed_at or fact.at, fact.at)
    post.updated_at = max(post.updated_at, fact.at)


def _day(fact: Fact) -> date:
    """The UTC day a view counts for."""
    return fact.at.astimezone(UTC).date()
