"""Which views count towards a post's score: the order within the stream of views decides, and nothing else.

One credit for each viewer, post and UTC day; for each address range at most a set number for a post and day. A view
that gets no credit leaves no trace in these limits, so the same viewer may earn it later from another range.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import UTC, date, datetime
from uuid import UUID

ViewerDay = tuple[UUID, str, date]
RangeDay = tuple[UUID, str, date]


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


def count(views: Iterable[View], *, credited: AbstractSet[ViewerDay], spent: Mapping[RangeDay, int], cap: int) -> Views:
    """Count views in their order.

    Shapes: `credited` and `spent` tell of every viewer and range in `views` what earlier views have used.
    """
    used = set(credited)
    taken = Counter(spent)
    posts: dict[UUID, Viewed] = {}
    earned: list[Credit] = []
    reporters: dict[tuple[UUID, str], Reporter] = {}
    for view in views:
        post = posts.setdefault(view.post_id, Viewed(view.post_id, 0, 0, view.at))
        post.view_count += 1
        post.last_viewed_at = max(post.last_viewed_at, view.at)
        if view.reporter_key is not None:
            reporters.setdefault(
                (view.version_id, view.reporter_key), Reporter(view.version_id, view.reporter_key, view.at)
            )
        if view.viewer_day in used or taken[view.range_day] >= cap:
            continue
        used.add(view.viewer_day)
        taken[view.range_day] += 1
        post.unique_view_score += 1
        earned.append(Credit(view.post_id, view.viewer_key, view.day, view.ip_range_key, view.at))
    return Views(tuple(posts.values()), tuple(earned), tuple(reporters.values()))
