"""Views of posts and hints about them, in an age-limited stream of their own."""

from __future__ import annotations

from uuid import UUID

from contracts.v1.event import Event
from contracts.v1.parts import Sha256


class PostViewed(Event, subject="post.viewed", key="post_id", identity=("view_id",)):
    """A reader viewed a version. Viewer and address range are stored as hashes only.

    `reporter_key` is set only for a holder of an instance key, whose view corroborates the text (requirements 2.9).
    """

    view_id: UUID
    post_id: UUID
    version_id: UUID
    viewer_key: Sha256
    ip_range_key: Sha256
    reporter_key: Sha256 | None = None


class PostHinted(Event, subject="post.hinted", key="post_id", identity=("hint_id",)):
    """A reader with private reading helps to choose what is checked: they opened a post within the last two days.

    It names no version, since nothing of the page was sent. Of the address only the hash of its range is stored.
    """

    hint_id: UUID
    post_id: UUID
    ip_range_key: Sha256
