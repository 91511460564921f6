"""The life of one version of a post: what exactly was on the page."""

from __future__ import annotations

from uuid import UUID

from pydantic import Field

from contracts.v1.event import Event
from contracts.v1.pages import Sighting
from contracts.v1.parts import ImageOccurrence, PostRef, Provenance, Sha256, TextRef


class VersionEvent(Event, key="version_id"):
    """Base of a version's events; of values that may change, those of the newest sighting count."""

    version_id: UUID
    post_id: UUID
    post: PostRef
    version_hash: Sha256
    provenance: Provenance
    sighting: Sighting

    def identity(self) -> str:
        return str(self.sighting.observation_id)


class VersionRegistered(VersionEvent, subject="version.registered"):
    """A version is seen for the first time.

    Two readers may see it first at the same moment: the first event in the log counts, the other one as `version.seen`.
    Units: `content` is the normalised text, `word_count` as in docs/protocol.md 3.3.
    """

    content: TextRef
    word_count: int = Field(ge=0)
    occurrences_hash: Sha256
    occurrences: tuple[ImageOccurrence, ...] = ()


class VersionSeen(VersionEvent, subject="version.seen"):
    """A known version is seen again."""


class VersionVerified(VersionEvent, subject="version.verified"):
    """The site confirmed a version that was known only from readers; published once."""
