"""Which views count towards a post's score, and when readers corroborate a version: the order of the views decides.

One credit for each viewer, post and UTC day; for each address range at most `credit_cap` for a post and day. A view
without credit does not count towards these limits, so the same viewer may earn one later from another range.

A hint counts as eight views that were not sent, within the same limits: one a day for each address range and post, and
no more than views may earn there. It adds to the score that ranks a post, not to its number of views.

A version is corroborated by the first holder of an instance key who sees it, or by viewers of `corroborating_ranges`
address ranges. Address ranges are stored only until that number is reached.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date
from typing import Final
from uuid import UUID

from contracts.v1 import PostHinted, PostViewed
from services.projector.facts.fact import Fact
from services.projector.rows import views as rows
from services.projector.rows.table import RowKey, Tables

RangeDay = tuple[UUID, str, date]

HINT_WEIGHT: Final = 8
"""One of this many views is hinted, so a hint counts as all of them."""
_POST: Final = rows.POST_COUNTERS.by()
_VERSION: Final = rows.VIEWED_VERSIONS.by()
_RANGE: Final = rows.RANGES.by("post_version_id")
_VIEWER_DAY: Final = rows.CREDITS.by()
_RANGE_DAY: Final = rows.CREDITS.by("post_id", "ip_range_key", "bucket_day")


@dataclass(frozen=True, slots=True)
class ViewRules:
    """Limits on what views count.

    `credit_cap`: the most credits of one address range for a post and day. `corroborating_ranges`: the number of
    address ranges that corroborate a version.
    """

    credit_cap: int = 10
    corroborating_ranges: int = 3


VIEW_RULES: Final = ViewRules()


def find_row_keys(fact: Fact) -> Sequence[RowKey]:
    """The rows that a view or a hint is about."""
    day = _day(fact)
    match fact.event:
        case PostViewed() as view:
            return (
                (_POST, view.post_id),
                (_VERSION, view.version_id),
                (_RANGE, view.version_id),
                (_VIEWER_DAY, (view.post_id, view.viewer_key, day)),
                (_RANGE_DAY, (view.post_id, view.ip_range_key, day)),
            )
        case PostHinted() as hint:
            return (_POST, hint.post_id), (_RANGE_DAY, (hint.post_id, hint.ip_range_key, day))
        case _:
            return ()


def fold(tables: Tables, facts: Iterable[Fact], rules: ViewRules) -> int:
    """Count views and hints in order; returns how many were dropped because their version or post is unknown."""
    unknown = 0
    spent = Counter[RangeDay]()
    for row in tables[rows.CREDITS].current:
        spent[row.post_id, row.ip_range_key, row.bucket_day] += row.weight
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
        elif isinstance(hint := fact.event, PostHinted):
            post = tables[rows.POST_COUNTERS].edit(hint.post_id)
            if post is None:
                unknown += 1
                continue
            range_ = hint.ip_range_key
            credit = rows.Credit(post.id, range_, _day(fact), range_, fact.at, HINT_WEIGHT)
            post.hint_score += _earn(tables, credit, spent, rules)
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
    credit = rows.Credit(post.id, view.viewer_key, _day(fact), view.ip_range_key, fact.at)
    post.view_count += 1
    post.unique_view_score += _earn(tables, credit, spent, rules)
    post.last_viewed_at = max(post.last_viewed_at or fact.at, fact.at)
    post.updated_at = max(post.updated_at, fact.at)


def _earn(tables: Tables, credit: rows.Credit, spent: Counter[RangeDay], rules: ViewRules) -> int:
    """Store the credit of a view or a hint; its weight, limited to what its address range has left of the day."""
    range_day = (credit.post_id, credit.ip_range_key, credit.bucket_day)
    has_credit = tables[rows.CREDITS].get((credit.post_id, credit.viewer_key, credit.bucket_day)) is not None
    earned = 0 if has_credit else max(0, min(credit.weight, rules.credit_cap - spent[range_day]))
    if earned:
        spent[range_day] += earned
        tables[rows.CREDITS].put(replace(credit, weight=earned))
    return earned


def _day(fact: Fact) -> date:
    """The UTC day a view counts for."""
    return fact.at.astimezone(UTC).date()
