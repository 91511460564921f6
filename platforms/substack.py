"""Substack, also under a publication's own domain.

The post is always asked of the publication's address under substack.com: anybody can put a page like Substack's on a
domain of theirs, and its word must not count as Substack's. Where that address redirects to the publication's own
domain, only the post's number is taken from there; substack.com itself is then asked for the post of that number.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote

from pydantic import JsonValue

from contracts.v1.parts import Author, Observation, PostRef
from platforms.base import (
    CanonicalAnswer,
    CanonicalMismatch,
    CanonicalRequest,
    IdentityMismatch,
    Metadata,
    agree,
    at,
    is_host_of,
    json_answer,
    metadata_text,
    text_at,
)
from platforms.markup import Fragment
from platforms.text import article, html_to_text
from platforms.urls import check_segment, decode_component, parse_url, web_page

_PATH = re.compile(r"/p/([^/]+)(?:/.*)?")
_PUBLICATION = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_DIGITS = re.compile("[0-9]+")
_DOMAIN: Final = ".substack.com"
_MISSING: Final = frozenset({404, 410})
_NO_NAME = re.compile(r"[0-9.]*|\[.*|[^.]*")
_NO_PUBLICATIONS: Final = (
    "substack.com", "localhost", "local", "localdomain", "internal", "home.arpa",
    "lesswrong.com", "wikipedia.org", "x.com", "twitter.com",
)  # fmt: skip
"""Domains that are no publication's, with all below them: of this network, and of the other sites."""


class Substack:
    """A post's identity is its number, which the URL does not show. Source: docs/protocol.md 2.1, 5.3."""

    name: Final = "SUBSTACK"
    default_endpoint: Final = "https://{publication}.substack.com"

    def check(self, url: str, external_id: str | None, metadata: Metadata) -> PostRef:
        """Give the post that URL and metadata agree on. Raises: IdentityMismatch."""
        page = web_page(url)
        path = _PATH.fullmatch(page.path)
        if path is None or not _may_be_a_publication(page.host):
            raise IdentityMismatch("the URL is not that of a Substack post")
        check_segment("the slug", metadata_text(metadata, "slug"), path[1])
        publication = metadata_text(metadata, "publication_subdomain") or ""
        if not _PUBLICATION.fullmatch(publication.lower()):
            raise IdentityMismatch("the publication is no name under Substack's domain")
        if page.host.endswith(_DOMAIN):
            agree("the publication", publication.lower(), page.host.removesuffix(_DOMAIN))
        post_id = metadata_text(metadata, "substack_post_id")
        if post_id is None or external_id != post_id or not _DIGITS.fullmatch(post_id):
            raise IdentityMismatch("external id and Substack's post id differ or are no number")
        return PostRef(platform=self.name, external_id=post_id)

    def canonical_request(self, observation: Observation, endpoint: str | None = None) -> CanonicalRequest | None:
        """Ask the publication for the post of that slug."""
        slug = metadata_text(observation.metadata, "slug")
        publication = _publication(observation)
        if slug is None or publication is None:
            return None
        base = (endpoint or self.default_endpoint).replace("{publication}", publication)
        accept = (("accept", "application/json"),)
        url = f"{base}/api/v1/posts/{_segment(slug)}"
        return CanonicalRequest("GET", url, accept, part=publication, missing_statuses=_MISSING)

    def parse_canonical(self, observation: Observation, body: bytes) -> CanonicalAnswer:
        """Read the post's HTML; the number is the one Substack states. Raises: CanonicalMismatch."""
        return _read(json_answer(body), observation)

    def is_own(self, url: str) -> bool:
        """Substack's own domain; a publication's own domain is its owner's."""
        return is_host_of(url, "substack.com", _DOMAIN)

    def confirming_request(self, external_id: str, endpoint: str | None = None) -> CanonicalRequest | None:
        """Ask substack.com for the post of the number that the publication's own domain states."""
        base = (endpoint or self.default_endpoint).replace("{publication}.", "").replace("{publication}", "")
        url = f"{base}/api/v1/posts/by-id/{external_id}"
        return CanonicalRequest("GET", url, (("accept", "application/json"),), missing_statuses=_MISSING)

    def parse_confirmation(self, observation: Observation, body: bytes, answered_at: str) -> CanonicalAnswer:
        """Read substack.com's own answer, which must place the post in the publication that was asked.

        Raises: CanonicalMismatch.
        """
        document = json_answer(body)
        stated = at(document, "post")
        answer = _read(stated if isinstance(stated, dict) else document, observation)
        publication = _publication(observation)
        name = text_at(document, "publication", "subdomain") or text_at(stated, "publication", "subdomain")
        homes = {_host(answered_at), f"{publication}{_DOMAIN}"}
        if (name is not None and name.lower() != publication) or _host(answer.url) not in homes:
            raise CanonicalMismatch("other_publication", "substack.com places this post in another publication")
        return answer

    def address(self, observation: Observation) -> str:
        """As the reader's browser has it if that is under Substack's domain, else where Substack has it.

        A domain counts as a publication's only where Substack says so.
        """
        page = parse_url(observation.url)
        if page is not None and page.host.endswith(_DOMAIN):
            return page.address
        return _of_publication(observation, observation.post, metadata_text(observation.metadata, "slug") or "")

    def article(self, html: str, external_id: str = "") -> Fragment:
        """Parse the HTML without what is not its text. Raises: UnparseableHtml."""
        return article(html)

    def extract_text(self, html: str, external_id: str = "") -> str:
        """Give the post's text. Raises: UnparseableHtml."""
        return html_to_text(html)

    def author(self, metadata: Metadata) -> Author | None:
        """The author's handle, else the publication with the lower-cased name. Source: docs/protocol.md 2.1."""
        name = metadata_text(metadata, "author_name")
        handle = metadata_text(metadata, "author_substack_handle")
        if handle is not None:
            return Author(platform_user_id=handle, display_name=name or handle)
        publication = metadata_text(metadata, "publication_subdomain")
        if name is None or publication is None:
            return None
        return Author(platform_user_id=f"publication:{publication}:name:{name.lower()}", display_name=name)


def _read(answer: object, observation: Observation) -> CanonicalAnswer:
    number, html = at(answer, "id"), at(answer, "body_html")
    if not isinstance(number, int) or isinstance(number, bool):
        raise CanonicalMismatch("bad_answer", "the answer holds no post id")
    if at(answer, "audience") not in (None, "everyone"):
        raise CanonicalMismatch("not_public", "the post is not public, so its HTML is only a part")
    if not isinstance(html, str) or not html:
        empty = isinstance(answer, dict) and "body_html" in answer and html in (None, "")
        raise CanonicalMismatch("no_text" if empty else "bad_answer", "the answer holds no HTML")
    post = PostRef(platform=Substack.name, external_id=str(number))
    slug = text_at(answer, "slug") or metadata_text(observation.metadata, "slug") or ""
    metadata: dict[str, JsonValue] = {
        "substack_post_id": post.external_id,
        "publication_subdomain": _publication(observation),
        "slug": slug,
        "title": text_at(answer, "title"),
        "subtitle": text_at(answer, "subtitle"),
        **_author(at(answer, "publishedBylines"), observation),
    }
    url = _own_address(answer) or _of_publication(observation, post, slug)
    return CanonicalAnswer(post, html, url=url, metadata=metadata)


def _host(url: str | None) -> str:
    page = parse_url(url or "")
    return "" if page is None else page.host.lower().removeprefix("www.")


def _may_be_a_publication(host: str) -> bool:
    name = host.rstrip(".")
    if _NO_NAME.fullmatch(name):
        return False
    if name.endswith(_DOMAIN):
        return True
    return not any(name == domain or name.endswith(f".{domain}") for domain in _NO_PUBLICATIONS)


def _publication(observation: Observation) -> str | None:
    name = (metadata_text(observation.metadata, "publication_subdomain") or "").lower()
    return name if _PUBLICATION.fullmatch(name) else None


def _segment(slug: str) -> str:
    return quote(decode_component(slug) or slug, safe="", errors="replace")


def _of_publication(observation: Observation, post: PostRef, slug: str) -> str:
    """Where Substack itself shows a post, which leads to the publication's own domain if it has one."""
    publication = _publication(observation)
    if publication is None or not slug:
        return f"https://substack.com/home/post/p-{post.external_id}"
    return f"https://{publication}{_DOMAIN}/p/{_segment(slug)}"


def _own_address(answer: object) -> str | None:
    """Where Substack says that the post is; None for what cannot be a post's address."""
    page = parse_url(text_at(answer, "canonical_url") or "")
    if page is None or page.scheme != "https" or page.port or page.has_credentials:
        return None
    return page.address if _PATH.fullmatch(page.path) and _may_be_a_publication(page.host) else None


def _author(bylines: object, observation: Observation) -> dict[str, JsonValue]:
    """The first author Substack names, else the publication: a post that nobody signed is nobody else's."""
    first = bylines[0] if isinstance(bylines, list) and bylines else None
    name, handle = text_at(first, "name"), text_at(first, "handle")
    publication = metadata_text(observation.metadata, "publication_subdomain")
    return {"author_name": name or handle or publication, "author_substack_handle": handle}
