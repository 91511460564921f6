"""The Gazette: a site that nobody reads, entered in a copy of the sources by this file and its entry in the list."""

from __future__ import annotations

import re
from typing import Final, Literal

from contracts.rpc.observation import MetadataWithHtml, ObservedWithId, ObservedWithText
from contracts.rpc.values import Title
from contracts.v1.pages import Observation
from contracts.v1.parts import Author, PostRef
from platforms import stored
from platforms.base import (
    CanonicalAnswer,
    CanonicalRequest,
    IdentityMismatch,
    Metadata,
    Platform,
    get_text,
    is_host_of,
    metadata_text,
    parse_json,
    require_equal,
)
from platforms.urls import web_page

_ENDPOINT: Final = "https://gazette.example/api"
_PATH = re.compile("/([a-z]+)")


class GazetteMetadata(MetadataWithHtml):
    headline: Title


class ObservedGazette(ObservedWithId, ObservedWithText):
    platform: Literal["GAZETTE"]
    metadata: GazetteMetadata


class GazetteVersion(stored.StoredMetadata):
    headline: stored.Title


class Gazette(Platform):
    """An article's identity is the word in its address."""

    name = "GAZETTE"
    display_name = "The Gazette"
    domains = ("gazette.example",)
    observed = ObservedGazette
    stored = GazetteVersion
    default_endpoint = _ENDPOINT
    endpoint_meaning = "address of the interface"
    disputed = ("headline",)

    def check(self, url: str, external_id: str | None, metadata: Metadata) -> PostRef:
        """Give the article that the URL names. Raises: IdentityMismatch."""
        page = web_page(url)
        path = _PATH.fullmatch(page.path)
        if page.host != "gazette.example" or path is None:
            raise IdentityMismatch("the URL is not that of an article")
        require_equal("the external id", external_id, path[1])
        return PostRef(platform=self.name, external_id=path[1])

    def canonical_request(self, observation: Observation, endpoint: str | None = None) -> CanonicalRequest | None:
        """Ask for the article by its word."""
        return CanonicalRequest("GET", f"{endpoint or _ENDPOINT}/{observation.post.external_id}")

    def parse_canonical(self, observation: Observation, body: bytes) -> CanonicalAnswer:
        """Read the article. Raises: CanonicalMismatch."""
        answer = parse_json(body)
        post = PostRef(platform=self.name, external_id=get_text(answer, "id") or "")
        headline = {"headline": get_text(answer, "headline")}
        return CanonicalAnswer(post, get_text(answer, "html") or "", url=self.address(observation), metadata=headline)

    def is_own(self, url: str) -> bool:
        """Its one host."""
        return is_host_of(url, *self.domains)

    def address(self, observation: Observation) -> str:
        """By its word."""
        return f"https://gazette.example/{observation.post.external_id}"

    def author(self, metadata: Metadata) -> Author | None:
        """Nobody signs here."""
        return Author(platform_user_id="staff", display_name="The Gazette's staff")

    def title(self, metadata: Metadata) -> str | None:
        """The headline."""
        return metadata_text(metadata, "headline")
