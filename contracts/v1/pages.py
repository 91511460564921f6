"""What readers and sites show of a post."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from pydantic import Field, JsonValue

from contracts.v1.parts import Author, BlobRef, ImageOccurrence, PostRef, Sha256, TextRef, Value


class Observation(Value):
    """What one reader's browser saw. `metadata` holds the platform's own fields without HTML.

    `network_key` is the hash of the reader's address range, computed as that of a view; None in older events.
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
    """The page as its site served it to us; `post` is the identity the site states.

    `url` and `metadata` are the post's address and what the site says about it, under the names that an observation
    uses; they override what a reader sends. None in `metadata`: the site names no such value. `text` is the normalised
    text of `html`. `proof` is a blob by which the page can be checked again without its site, where a site has that.
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
    """What an observation says about a version beyond its content; the newest one wins where a field may change.

    `attested`: whether the browser's signature was valid; None if there was none. `site_confirmed`: address, titles and
    author are the site's own, and a missing one is one that the site does not name; otherwise they are a reader's.
    None in older events, where `server_html` decides. `network_key` is the observation's.
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
