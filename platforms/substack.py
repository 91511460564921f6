"""Substack, also under a publication's own domain.

The post is always requested from the publication's address under substack.com: a page like Substack's on another domain
must not count as Substack's answer. If that address redirects to the publication's own domain, only the post's number
is used from there, and the post of that number is requested from substack.com.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, Literal
from urllib.parse import quote

from pydantic import JsonValue

import platforms
from contracts.rpc.observation import MetadataWithHtml, ObservedWithId, ObservedWithText
from contracts.rpc.values import NAME_CHARACTERS, Count, Digits, Identifier, InstantText, Optional, PersonName, Title
from contracts.v1.pages import Observation
from contracts.v1.parts import Author, PostRef
from platforms import stored
from platforms.base import (
    CanonicalAnswer,
    CanonicalMismatch,
    CanonicalRequest,
    IdentityMismatch,
    Metadata,
    Platform,
    Steps,
    get_path,
    get_text,
    is_host_of,
    metadata_text,
    parse_json,
    require_equal,
)
from platforms.stored import StoredMetadata
from platforms.urls import check_segment, decode_component, find_host, parse_url, web_page

_PATH = re.compile(r"/p/([^/]+)(?:/.*)?")
_SHARED_PATH = re.compile(r"/pub/([^/]+)/p/([^/]+)(?:/.*)?")
_PUBLICATION = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_DIGITS = re.compile("[0-9]+")
_DOMAIN: Final = ".substack.com"
_MISSING: Final = frozenset({404, 410})
_NO_NAME = re.compile(r"[0-9.]*|\[.*|[^.]*")
_OWN_NETWORK: Final = ("localhost", "local", "localdomain", "internal", "home.arpa")
_ENDPOINT: Final = "https://{publication}.substack.com"


class SubstackMetadata(MetadataWithHtml):
    substack_post_id: Digits
    publication_subdomain: Identifier
    slug: Identifier
    title: Title
    subtitle: Optional[Title] = None
    author_name: PersonName
    author_substack_handle: Optional[Identifier] = None
    published_at: Optional[InstantText] = None
    like_count: Optional[Count] = None
    comment_count: Optional[Count] = None


class ObservedSubstack(ObservedWithId, ObservedWithText):
    platform: Literal["SUBSTACK"]
    metadata: SubstackMetadata


class SubstackVersion(StoredMetadata):
    substack_post_id: stored.Text
    publication_subdomain: stored.Text
    slug: stored.Text
    title: stored.Title
    subtitle: stored.OptionalTitle = None
    author_name: stored.Name
    author_substack_handle: stored.OptionalText = None
    published_at: stored.Moment = None
    like_count: stored.Count = None
    comment_count: stored.Count = None


class Substack(Platform):
    """A post's identity is its number, which the URL does not show. Source: docs/protocol.md 2.1, 5.3."""

    name = "SUBSTACK"
    display_name = "Substack"
    domains = ("substack.com",)
    observed = ObservedSubstack
    stored = SubstackVersion
    default_endpoint = _ENDPOINT
    endpoint_meaning = "origin"
    disputed = ("title", "author_name", "author_substack_handle")
    confirms_elsewhere = True
    proof_place = "any public post of yours in the same publication; the one in question will do"

    def check(self, url: str, external_id: str | None, metadata: Metadata) -> PostRef:
        page = web_page(url)
        path = _PATH.fullmatch(page.path)
        if path is None or not _may_be_a_publication(page.host):
            raise IdentityMismatch("the URL is not that of a Substack post")
        check_segment("the slug", metadata_text(metadata, "slug"), path[1])
        publication = metadata_text(metadata, "publication_subdomain") or ""
        if not _PUBLICATION.fullmatch(publication.lower()):
            raise IdentityMismatch("the publication is no name under Substack's domain")
        if page.host.endswith(_DOMAIN):
            require_equal("the publication", publication.lower(), page.host.removesuffix(_DOMAIN))
        post_id = metadata_text(metadata, "substack_post_id")
        if post_id is None or external_id != post_id or not _DIGITS.fullmatch(post_id):
            raise IdentityMismatch("external id and Substack's post id differ or are no number")
        return PostRef(platform=self.name, external_id=post_id)

    def canonical_request(self, observation: Observation, endpoint: str | None = None) -> CanonicalRequest | None:
        """Request the post with the observed slug from the publication."""
        slug = metadata_text(observation.metadata, "slug")
        publication = _publication(observation)
        if slug is None or publication is None:
            return None
        base = (endpoint or _ENDPOINT).replace("{publication}", publication)
        accept = (("accept", "application/json"),)
        url = f"{base}/api/v1/posts/{_segment(slug)}"
        return CanonicalRequest("GET", url, accept, part=publication, missing_statuses=_MISSING)

    def parse_canonical(self, observation: Observation, body: bytes) -> CanonicalAnswer:
        """Read the post's HTML; the number is the one Substack states. Raises: CanonicalMismatch."""
        return _read(parse_json(body), observation)

    def is_own(self, url: str) -> bool:
        """Whether this URL is on Substack's own domain; a publication's own domain belongs to its owner."""
        return is_host_of(url, "substack.com", _DOMAIN)

    def steps(self, observation: Observation, endpoints: Mapping[str, str]) -> Steps | None:
        """Fetch the post; if its publication's own domain answers, fetch the post of that number from substack.com."""
        endpoint = endpoints.get(self.name)
        first = self.canonical_request(observation, endpoint)
        return None if first is None else self._steps(observation, first, endpoint or _ENDPOINT)

    def _steps(self, observation: Observation, first: CanonicalRequest, endpoint: str) -> Steps:
        found = yield first
        answer = self.parse_canonical(observation, found.body)
        if found.elsewhere is None:
            return answer
        stated = yield _by_number(answer.post.external_id, endpoint)
        if stated.status in _MISSING:
            raise CanonicalMismatch("other_host", "the site does not know the post that another host names")
        confirmed = _read_confirmation(parse_json(stated.body), observation, found.elsewhere)
        if stated.elsewhere is not None or confirmed.post != answer.post:
            raise CanonicalMismatch("other_host", "the site does not confirm the answer of another host")
        return confirmed

    def permalink(self, url: str) -> str | None:
        """The post's page at the publication's host, also for links that the site's app shares."""
        page = web_page(url)
        if shared := _SHARED_PATH.fullmatch(page.path):
            return f"{shared[1]}{_DOMAIN}/p/{shared[2]}"
        path = _PATH.fullmatch(page.path)
        return None if path is None else f"{page.host}/p/{path[1]}"

    def address(self, observation: Observation) -> str:
        """The reader's URL if it is under Substack's domain, else the post's URL there.

        A domain counts as a publication's only if Substack says so.
        """
        page = parse_url(observation.url)
        if page is not None and page.host.endswith(_DOMAIN):
            return page.address
        return _of_publication(observation, observation.post, metadata_text(observation.metadata, "slug") or "")

    def fields_of_id(self, external_id: str) -> Metadata:
        """The post's number, as metadata."""
        return {"substack_post_id": external_id}

    def own_page(self, url: str, owner: str, post: PostRef, metadata: Metadata) -> tuple[PostRef, Metadata]:
        """A post of the same publication. Only the answer has its number; the known post's stands for it."""
        path = _PATH.fullmatch(web_page(url).path)
        known = {
            "publication_subdomain": metadata_text(metadata, "publication_subdomain"),
            "slug": None if path is None else decode_component(path[1]),
            "substack_post_id": post.external_id,
        }
        return self.check(url, post.external_id, known), known

    def author(self, metadata: Metadata) -> Author | None:
        """The author's handle, else the publication with the lower-cased name. Source: docs/protocol.md 2.1."""
        name = metadata_text(metadata, "author_name", NAME_CHARACTERS)  # as a reader's is cut
        handle = metadata_text(metadata, "author_substack_handle")
        if handle is not None:
            return Author(platform_user_id=handle, display_name=name or handle)
        publication = metadata_text(metadata, "publication_subdomain")
        if name is None or publication is None:
            return None
        return Author(platform_user_id=f"publication:{publication}:name:{name.lower()}", display_name=name)


def _read(answer: object, observation: Observation) -> CanonicalAnswer:
    number, html = get_path(answer, "id"), get_path(answer, "body_html")
    if not isinstance(number, int) or isinstance(number, bool):
        raise CanonicalMismatch("bad_answer", "the answer holds no post id")
    if get_path(answer, "audience") not in (None, "everyone"):
        raise CanonicalMismatch("not_public", "the post is not public, so its HTML is only a part")
    if not isinstance(html, str) or not html:
        empty = isinstance(answer, dict) and "body_html" in answer and html in (None, "")
        raise CanonicalMismatch("no_text" if empty else "bad_answer", "the answer holds no HTML")
    post = PostRef(platform=Substack.name, external_id=str(number))
    slug = get_text(answer, "slug") or metadata_text(observation.metadata, "slug") or ""
    metadata: dict[str, JsonValue] = {
        "substack_post_id": post.external_id,
        "publication_subdomain": _publication(observation),
        "slug": slug,
        "title": get_text(answer, "title"),
        "subtitle": get_text(answer, "subtitle"),
        **_author(get_path(answer, "publishedBylines"), observation),
    }
    url = _own_address(answer) or _of_publication(observation, post, slug)
    return CanonicalAnswer(post, html, url=url, metadata=metadata)


def _by_number(number: str, endpoint: str) -> CanonicalRequest:
    base = endpoint.replace("{publication}.", "").replace("{publication}", "")
    url = f"{base}/api/v1/posts/by-id/{number}"
    return CanonicalRequest("GET", url, (("accept", "application/json"),), readable_statuses=_MISSING)


def _read_confirmation(document: object, observation: Observation, answered_at: str) -> CanonicalAnswer:
    """Read substack.com's answer, which must name the requested publication. Raises: CanonicalMismatch."""
    stated = get_path(document, "post")
    answer = _read(stated if isinstance(stated, dict) else document, observation)
    publication = _publication(observation)
    name = get_text(document, "publication", "subdomain") or get_text(stated, "publication", "subdomain")
    homes = {find_host(answered_at), f"{publication}{_DOMAIN}"}
    if (name is not None and name.lower() != publication) or find_host(answer.url) not in homes:
        raise CanonicalMismatch("other_publication", "substack.com places this post in another publication")
    return answer


def _may_be_a_publication(host: str) -> bool:
    name = host.rstrip(".")
    if _NO_NAME.fullmatch(name):
        return False
    if name.endswith(_DOMAIN):
        return True
    of_sites = (domain for site in platforms.PLATFORMS for domain in site.domains)
    return not any(name == domain or name.endswith(f".{domain}") for domain in (*_OWN_NETWORK, *of_sites))


def _publication(observation: Observation) -> str | None:
    name = (metadata_text(observation.metadata, "publication_subdomain") or "").lower()
    return name if _PUBLICATION.fullmatch(name) else None


def _segment(slug: str) -> str:
    return quote(decode_component(slug) or slug, safe="", errors="replace")


def _of_publication(observation: Observation, post: PostRef, slug: str) -> str:
    """The URL under Substack's domain, which redirects to the publication's own domain if it has one."""
    publication = _publication(observation)
    if publication is None or not slug:
        return f"https://substack.com/home/post/p-{post.external_id}"
    return f"https://{publication}{_DOMAIN}/p/{_segment(slug)}"


def _own_address(answer: object) -> str | None:
    """The URL that Substack states for the post; None if it cannot be a post's."""
    page = parse_url(get_text(answer, "canonical_url") or "")
    if page is None or page.scheme != "https" or page.port or page.has_credentials:
        return None
    return page.address if _PATH.fullmatch(page.path) and _may_be_a_publication(page.host) else None


def _author(bylines: object, observation: Observation) -> dict[str, JsonValue]:
    """The first author that Substack names, else the publication, as metadata."""
    first = bylines[0] if isinstance(bylines, list) and bylines else None
    name, handle = get_text(first, "name"), get_text(first, "handle")
    publication = metadata_text(observation.metadata, "publication_subdomain")
    return {"author_name": name or handle or publication, "author_substack_handle": handle}
