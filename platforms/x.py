"""X: without a public source, so observations are not verified."""

from __future__ import annotations

import re
from typing import Final, Literal

from contracts.rpc.observation import ObservedWithId, ObservedWithText, SiteMetadata
from contracts.rpc.values import Count, Identifier, InstantText, ObservedText, Optional, PersonName, WebPictures
from contracts.v1.pages import Observation
from contracts.v1.parts import Author, PostRef
from platforms import stored
from platforms.base import IdentityMismatch, Metadata, Platform, metadata_text, require_equal
from platforms.stored import StoredMetadata
from platforms.urls import address, web_page

_HOST = re.compile(r"(?:[a-z0-9-]+\.)*(?:x|twitter)\.com")
_PATH = re.compile(r"/(?:i/web|([A-Za-z0-9_]+))/status/([0-9]+)(?:/.*)?")
_NO_HANDLES: Final = frozenset(
    ("compose", "explore", "home", "i", "intent", "login", "messages", "notifications", "search", "settings", "signup")
)
"""Path segments that the site uses in place of a handle; the extension then reads the handle from the page."""


class XMetadata(SiteMetadata):
    author_handle: Identifier
    author_display_name: PersonName | None = None
    text: ObservedText
    media_urls: WebPictures
    like_count: Optional[Count] = None
    retweet_count: Optional[Count] = None
    posted_at: Optional[InstantText] = None


class ObservedX(ObservedWithId, ObservedWithText):
    platform: Literal["X"]
    metadata: XMetadata


class XVersion(StoredMetadata):
    tweet_id: stored.Text
    text: stored.Text
    author_handle: stored.Text
    author_display_name: stored.OptionalText = None
    media_urls: stored.Texts = ()
    like_count: stored.Count = None
    retweet_count: stored.Count = None
    posted_at: stored.Moment = None


class X(Platform):
    """A post's identity is its status id. Source: docs/protocol.md 2.1, 3.6, 5.3."""

    name = "X"
    display_name = "X"
    domains = ("x.com", "twitter.com")
    observed = ObservedX
    stored = XVersion

    def check(self, url: str, external_id: str | None, metadata: Metadata) -> PostRef:
        page = web_page(url)
        path = _PATH.fullmatch(page.path)
        if not _HOST.fullmatch(page.host) or path is None:
            raise IdentityMismatch("the URL is not that of a post on X")
        require_equal("the external id", external_id, path[2])
        in_url = (path[1] or "i").lower()
        if in_url not in _NO_HANDLES:
            require_equal("the handle", (metadata_text(metadata, "author_handle") or "").lower(), in_url)
        return PostRef(platform=self.name, external_id=path[2])

    def address(self, observation: Observation) -> str:
        """The reader's URL, normalised and without its fragment."""
        return address(observation.url)

    def permalink(self, url: str) -> str | None:
        """The path with the status id: handles change, and the site has two names."""
        path = _PATH.fullmatch(web_page(url).path)
        return None if path is None else f"/status/{path[2]}"

    def fields_of_id(self, external_id: str) -> Metadata:
        """The status id, as metadata."""
        return {"tweet_id": external_id}

    def author(self, metadata: Metadata) -> Author | None:
        """The author's handle. Source: docs/protocol.md 2.1."""
        handle = metadata_text(metadata, "author_handle")
        if handle is None:
            return None
        return Author(platform_user_id=handle, display_name=metadata_text(metadata, "author_display_name") or handle)
