"""Views of posts and hints about them, in an age-limited stream of their own."""

from __future__ import annotations

from typing import ClassVar
from uuid import UUID

from contracts.v1.event import Event
from contracts.v1.parts import Sha256


class PostViewed(Event):
    """A reader viewed a version. Viewer and address are stored as hashes only.

    `reporter_key` is set only for a holder of an instance key, whose view corroborates the text (requirements 2.9).
    """

    SUBJECT: ClassVar[str] = "errata.v1.post.viewed"
    KEY: ClassVar[str] = "post_id"
    IDENTITY: ClassVar[tuple[str, ...]] = ("view_id",)

    view_id: UUID
    post_id: UUID
    version_id: UUID
    viewer_key: Sha256
    ip_range_key: Sha256
    reporter_key: Sha256 | None = None


class PostHinted(Event):
    """A private reader helped to choose what is checked: they opened a post within the last two days.

    It names no version, since nothing of the page was sent. The address is stored as the hash of its range only.
    """

    SUBJECT: ClassVar[str] = "errata.v1.post.hinted"
    KEY: ClassVar[str] = "post_id"
    IDENTITY: ClassVar[tuple[str, ...]] = ("hint_id",)

    hint_id: UUID
    post_id: UUID
    ip_range_key: Sha256
