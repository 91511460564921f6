"""A post as readers observe it and as its site serves it."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from pydantic import Field, JsonValue

from contracts.v1.parts import Author, BlobRef, ImageOccurrence, PostRef, Sha256, TextRef, Value


class Observation(Value):
    """What one reader's browser saw. `metadata` has the platform's own fields without HTML.

    `network_key` is the hash of the reader's address range, computed as for a view; None in older events.
    """

    observation_id: UUID
    post: PostRef
    url: str
    text: TextRef | None = None
    html: TextRef | None = None
    image_urls: tuple[str, ...] = ()
    occurrences: tuple[ImageOccurrence, ...] = ()
    metadata: dict[str, JsonValue] = Field(default_factory=dict)
    attested: bool | None = None
    network_key: Sha256 | None = None


class CanonicalPage(Value):
    """The page as its site served it to us; `post` is the identity that the site states.

    `url` and `metadata` are the post's address and the site's metadata, under the names that an observation uses; they
    override a reader's. None in `metadata`: the site has no such value. `text` is the normalised text of `html`.
    `proof` is a blob by which the page can be verified without its site, for sites that have one.
    """

    post: PostRef
    source_url: str
    html: TextRef
    revision_id: str | None = None
    fetched_at: datetime
    url: str | None = None
    metadata: dict[str, JsonValue] = Field(default_factory=dict)
    text: TextRef | None = None
    proof: BlobRef | None = None


class Sighting(Value):
    """What an observation says about a version beyond its content; of fields that may change, the newest value counts.

    `attested`: whether the browser's signature was valid; None if there was none. `site_confirmed`: address, titles and
    author are the site's own, and the site has no value for a missing one; otherwise they are a reader's. None in older
    events, where `server_html` decides. `network_key` is the observation's.
    """

    observation_id: UUID
    url: str
    author: Author | None = None
    server_html: TextRef | None = None
    client_html: TextRef | None = None
    image_urls: tuple[str, ...] = ()
    metadata: dict[str, JsonValue] = Field(default_factory=dict)
    attested: bool | None = None
    site_confirmed: bool | None = None
    network_key: Sha256 | None = None
