"""Substack, also under a publication's own domain.

The post is always asked of the publication's address under substack.com: anybody can put a page like Substack's on a
domain of theirs, and its word must not count as Substack's.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote

from contracts.v1.parts import Author, Observation, PostRef
from platforms.base import (
    CanonicalAnswer,
    CanonicalMismatch,
    CanonicalRequest,
    IdentityMismatch,
    Metadata,
    agree,
    at,
    json_answer,
    metadata_text,
)
from platforms.markup import Fragment
from platforms.text import article, html_to_text
from platforms.urls import check_segment, decode_component, web_page

_PATH = re.compile(r"/p/([^/]+)(?:/.*)?")
_PUBLICATION = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_DIGITS = re.compile("[0-9]+")
_DOMAIN: Final = ".substack.com"


class Substack:
    """A post's identity is its number, which the URL does not show. Source: CONTRACT 2.1, 7.4."""

    name: Final = "SUBSTACK"
    default_endpoint: Final = "https://{publication}.substack.com"

    def check(self, url: str, external_id: str | None, metadata: Metadata) -> PostRef:
        """Give the post that URL and metadata agree on. Raises: IdentityMismatch."""
        page = web_page(url)
        path = _PATH.fullmatch(page.path)
        if path is None or page.host == "substack.com" or "." not in page.host:
            raise IdentityMismatch("the URL is not that of a Substack post")
        check_segment("the slug", metadata_text(metadata, "slug"), path[1])
        if page.host.endswith(_DOMAIN):
            publication = metadata_text(metadata, "publication_subdomain") or ""
            agree("the publication", publication.lower(), page.host.removesuffix(_DOMAIN))
        post_id = metadata_text(metadata, "substack_post_id")
        if post_id is None or external_id != post_id or not _DIGITS.fullmatch(post_id):
            raise IdentityMismatch("external id and Substack's post id differ or are no number")
        return PostRef(platform=self.name, external_id=post_id)

    def canonical_request(self, observation: Observation, endpoint: str | None = None) -> CanonicalRequest | None:
        """Ask the publication for the post of that slug."""
        slug = metadata_text(observation.metadata, "slug")
        publication = (metadata_text(observation.metadata, "publication_subdomain") or "").lower()
        if slug is None or not _PUBLICATION.fullmatch(publication):
            return None
        base = (endpoint or self.default_endpoint).replace("{publication}", publication)
        url = f"{base}/api/v1/posts/{quote(decode_component(slug) or slug, safe='', errors='replace')}"
        return CanonicalRequest("GET", url, (("accept", "application/json"),))

    def parse_canonical(self, observation: Observation, body: bytes) -> CanonicalAnswer:
        """Read the post's HTML; the number is the one Substack states. Raises: CanonicalMismatch."""
        answer = json_answer(body)
        html, number = at(answer, "body_html"), at(answer, "id")
        if not isinstance(html, str) or not html:
            raise CanonicalMismatch("bad_answer", "the answer holds no HTML")
        if not isinstance(number, int) or isinstance(number, bool):
            raise CanonicalMismatch("bad_answer", "the answer holds no post id")
        if at(answer, "audience") not in (None, "everyone"):
            raise CanonicalMismatch("not_public", "the post is not public, so its HTML is only a part")
        return CanonicalAnswer(PostRef(platform=self.name, external_id=str(number)), html)

    def article(self, html: str) -> Fragment:
        """Parse the HTML without what is not its text. Raises: UnparseableHtml."""
        return article(html)

    def extract_text(self, html: str) -> str:
        """Give the post's text. Raises: UnparseableHtml."""
        return html_to_text(html)

    def author(self, metadata: Metadata) -> Author | None:
        """The author's handle, else the publication with the lower-cased name. Source: CONTRACT 2.1."""
        name = metadata_text(metadata, "author_name")
        handle = metadata_text(metadata, "author_substack_handle")
        if handle is not None:
            return Author(platform_user_id=handle, display_name=name or handle)
        publication = metadata_text(metadata, "publication_subdomain")
        if name is None or publication is None:
            return None
        return Author(platform_user_id=f"publication:{publication}:name:{name.lower()}", display_name=name)
