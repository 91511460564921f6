"""Which views count towards a post's score, and when readers corroborate a version: the order of the views decides.

One credit for each viewer, post and UTC day; for each address range at most a set number for a post and day. A view
that gets no credit leaves no trace in these limits, so the same viewer may earn it later from another range.

A version is corroborated by the first holder of an instance key who sees it, or by viewers of a set number of address
ranges. Address ranges are kept only until that number is reached.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Final
from uuid import UUID

VersionRange = tuple[UUID, str]
ViewerDay = tuple[UUID, str, date]
RangeDay = tuple[UUID, str, date]


@dataclass(frozen=True, slots=True)
class ViewRules:
    """What views are worth.

    `credit_cap`: credits of one address range for a post and day. `corroborating_ranges`: so many address ranges
    corroborate a version.
    """

    credit_cap: int = 10
    corroborating_ranges: int = 3


VIEW_RULES: Final = ViewRules()


@dataclass(frozen=True, slots=True)
class View:
    """One view of a known version. Units: `at` is UTC."""

    post_id: UUID
    version_id: UUID
    viewer_key: str
    ip_range_key: str
    reporter_key: str | None
    at: datetime

    @property
    def day(self) -> date:
        """The UTC day it counts for."""
        return self.at.astimezone(UTC).date()

    @property
    def viewer_day(self) -> ViewerDay:
        """What may earn one credit."""
        return self.post_id, self.viewer_key, self.day

    @property
    def range_day(self) -> RangeDay:
        """What may earn no more than the cap."""
        return self.post_id, self.ip_range_key, self.day


@dataclass(slots=True)
class Credit:
    """A view that counted."""

    post_id: UUID
    viewer_key: str
    bucket_day: date
    ip_range_key: str
    created_at: datetime


@dataclass(slots=True)
class Reporter:
    """Somebody with an instance key saw a version."""

    post_version_id: UUID
    reporter_key: str
    seen_at: datetime


@dataclass(slots=True)
class ViewerRange:
    """An address range from which a version was seen."""

    post_version_id: UUID
    ip_range_key: str
    seen_at: datetime


@dataclass(slots=True)
class Corroborated:
    """A version that enough readers vouch for."""

    id: UUID
    corroborated_at: datetime


@dataclass(slots=True)
class Viewed:
    """What a batch adds to a post's counters."""

    id: UUID
    view_count: int
    unique_view_score: int
    last_viewed_at: datetime


@dataclass(frozen=True, slots=True)
class Views:
    """What a batch of views does."""

    posts: tuple[Viewed, ...]
    credits: tuple[Credit, ...]
    reporters: tuple[Reporter, ...]
    ranges: tuple[ViewerRange, ...]
    corroborated: tuple[Corroborated, ...]


def count(
    views: Iterable[View],
    *,
    credited: AbstractSet[ViewerDay],
    spent: Mapping[RangeDay, int],
    known_ranges: AbstractSet[VersionRange],
    rules: ViewRules,
) -> Views:
    """Count views in their order.

    Shapes: `credited`, `spent` and `known_ranges` hold what earlier views have used, for every viewer, range and
    version in `views`.
    """
    used = set(credited)
    taken = Counter(spent)
    posts: dict[UUID, Viewed] = {}
    earned: list[Credit] = []
    reporters: dict[tuple[UUID, str], Reporter] = {}
    ranges: dict[VersionRange, ViewerRange] = {}
    ranges_of = Counter(version for version, _ in known_ranges)
    corroborated: dict[UUID, Corroborated] = {}
    for view in views:
        post = posts.setdefault(view.post_id, Viewed(view.post_id, 0, 0, view.at))
        post.view_count += 1
        post.last_viewed_at = max(post.last_viewed_at, view.at)
        if view.reporter_key is not None:
            reporters.setdefault(
                (view.version_id, view.reporter_key), Reporter(view.version_id, view.reporter_key, view.at)
            )
            corroborated.setdefault(view.version_id, Corroborated(view.version_id, view.at))
        seen_from = (view.version_id, view.ip_range_key)
        is_new = seen_from not in known_ranges and seen_from not in ranges
        if is_new and ranges_of[view.version_id] < rules.corroborating_ranges:
            ranges[seen_from] = ViewerRange(view.version_id, view.ip_range_key, view.at)
            ranges_of[view.version_id] += 1
            if ranges_of[view.version_id] == rules.corroborating_ranges:
                corroborated.setdefault(view.version_id, Corroborated(view.version_id, view.at))
        if view.viewer_day in used or taken[view.range_day] >= rules.credit_cap:
            continue
        used.add(view.viewer_day)
        taken[view.range_day] += 1
        post.unique_view_score += 1
        earned.append(Credit(view.post_id, view.viewer_key, view.day, view.ip_range_key, view.at))
    return Views(
        tuple(posts.values()),
        tuple(earned),
        tuple(reporters.values()),
        tuple(ranges.values()),
        tuple(corroborated.values()),
    )
