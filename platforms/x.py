"""X: no public source to ask, so a post is what its reader saw."""

from __future__ import annotations

import re
from typing import Final

from contracts.v1.parts import Author, Observation, PostRef
from platforms.base import (
    CanonicalAnswer,
    CanonicalMismatch,
    CanonicalRequest,
    IdentityMismatch,
    Metadata,
    agree,
    metadata_text,
)
from platforms.markup import Fragment
from platforms.text import article, html_to_text
from platforms.urls import address, web_page

_HOST = re.compile(r"(?:[a-z0-9-]+\.)*(?:x|twitter)\.com")
_PATH = re.compile(r"/(?:i/web|([A-Za-z0-9_]+))/status/([0-9]+)(?:/.*)?")
_NO_HANDLES: Final = frozenset(
    ("compose", "explore", "home", "i", "intent", "login", "messages", "notifications", "search", "settings", "signup")
)
"""Words of the site itself that stand where a handle would; the extension then reads the handle from the page."""


class X:
    """A post's identity is its status id. Source: docs/protocol.md 2.1, 3.6, 5.3."""

    name: Final = "X"
    default_endpoint: Final = None

    def check(self, url: str, external_id: str | None, metadata: Metadata) -> PostRef:
        """Give the post that URL and metadata agree on. Raises: IdentityMismatch."""
        page = web_page(url)
        path = _PATH.fullmatch(page.path)
        if not _HOST.fullmatch(page.host) or path is None:
            raise IdentityMismatch("the URL is not that of a post on X")
        agree("the external id", external_id, path[2])
        in_url = (path[1] or "i").lower()
        if in_url not in _NO_HANDLES:
            agree("the handle", (metadata_text(metadata, "author_handle") or "").lower(), in_url)
        return PostRef(platform=self.name, external_id=path[2])

    def canonical_request(self, observation: Observation, endpoint: str | None = None) -> CanonicalRequest | None:
        """There is nothing to ask."""
        return None

    def parse_canonical(self, observation: Observation, body: bytes) -> CanonicalAnswer:
        """Raises: CanonicalMismatch, always."""
        raise CanonicalMismatch("not_public", "X has no public source")

    def is_own(self, url: str) -> bool:
        """Nothing is asked."""
        return False

    def confirming_request(self, external_id: str, endpoint: str | None = None) -> CanonicalRequest | None:
        """There is nothing to ask."""
        return None

    def parse_confirmation(self, observation: Observation, body: bytes, answered_at: str) -> CanonicalAnswer:
        """Raises: CanonicalMismatch, always."""
        raise CanonicalMismatch("not_public", "X has no public source")

    def address(self, observation: Observation) -> str:
        """As the reader's browser has it."""
        return address(observation.url)

    def article(self, html: str, external_id: str = "") -> Fragment:
        """Parse the HTML without what is not its text. Raises: UnparseableHtml."""
        return article(html)

    def extract_text(self, html: str, external_id: str = "") -> str:
        """Give the text of HTML. Raises: UnparseableHtml."""
        return html_to_text(html)

    def author(self, metadata: Metadata) -> Author | None:
        """The handle. Source: docs/protocol.md 2.1."""
        handle = metadata_text(metadata, "author_handle")
        if handle is None:
            return None
        return Author(platform_user_id=handle, display_name=metadata_text(metadata, "author_display_name") or handle)
