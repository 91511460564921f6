"""What the log says of one version, fact by fact; a test names only what it is about."""

from __future__ import annotations

from uuid import UUID

from contracts.v1 import VersionRegistered, VersionSeen, VersionVerified
from contracts.v1.pages import Sighting
from contracts.v1.parts import ImageOccurrence, PostRef, Provenance
from contracts.v1.version import VersionEvent
from platforms.identity import content_hash
from tests.support.factories import POST, POST_ID, TEXT, URL, VERSION_ID, text_ref


def sighting(number: int = 1, *, site: str | None = None, reader: str | None = None, **given: object) -> Sighting:
    """One observation with the HTML it brought."""
    return Sighting.model_validate(
        {
            "observation_id": UUID(int=number),
            "url": URL,
            "server_html": None if site is None else text_ref(site),
            "client_html": None if reader is None else text_ref(reader),
            **given,
        }
    )


def registered(
    seen: Sighting,
    provenance: Provenance = "CLIENT_FALLBACK",
    text: str = TEXT,
    occurrences: tuple[ImageOccurrence, ...] = (),
    post: PostRef = POST,
) -> VersionRegistered:
    """The version's first fact."""
    return VersionRegistered(
        version_id=VERSION_ID,
        post_id=POST_ID,
        post=post,
        version_hash=content_hash(text),
        provenance=provenance,
        sighting=seen,
        content=text_ref(text),
        word_count=1,
        occurrences_hash=content_hash(""),
        occurrences=occurrences,
    )


def later(kind: type[VersionSeen | VersionVerified], seen: Sighting, provenance: Provenance) -> VersionEvent:
    """A further fact of the version."""
    return kind(
        version_id=VERSION_ID,
        post_id=POST_ID,
        post=POST,
        version_hash=content_hash(TEXT),
        provenance=provenance,
        sighting=seen,
    )
