"""What the system needs to know about a site, and nothing about how it is asked over the network.

Everything here is pure: a site describes the request that fetches the public page and reads the answer, others send it.
A site that did its own fetching could neither be tested with bytes nor be limited, cached and guarded in one place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol

import orjson
from ada_url import URL
from pydantic import JsonValue

from contracts.v1.parts import Author, Observation, PostRef
from platforms.markup import Fragment

Metadata = Mapping[str, JsonValue]
"""What the extension read from the page, under the wire's names in snake_case, without any HTML."""


class IdentityMismatch(ValueError):
    """The observation names another post than its URL does, or no post of this site; `reason` says how."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


Mismatch = Literal["bad_answer", "not_found", "other_revision", "not_public", "no_text", "other_publication"]

NO_PUBLIC_SOURCE: Final = "no_public_source"
REFUSALS: Final = frozenset({"not_found", "other_revision", "not_public", "no_text", NO_PUBLIC_SOURCE})
"""Reasons by which the site itself denies that it shows this page to the public, and that of an observation which names
nothing that its site could be asked for. All others are outages: they say nothing about the page."""


class CanonicalMismatch(ValueError):
    """The site's answer does not hold the page that was asked for; the message is one sentence for an operator.

    `reason` is one of few short codes, so that it can be counted. `broken`: the site is not itself, whatever is asked.
    """

    def __init__(
        self,
        reason: Mismatch,
        detail: str,
        *,
        broken: bool = False,
    ) -> None:
        super().__init__(detail)
        self.reason = reason
        self.broken = broken


@dataclass(frozen=True, slots=True)
class CanonicalRequest:
    """How to ask the site for the public page. Equal requests ask for the same page.

    `immutable`: the answer never changes, so it may be kept for ever. `part` is the part of the site that is asked,
    which the URL does not tell where one address stands for all of them. `missing_statuses` are the HTTP statuses by
    which the site denies that the page exists; from an interface with one URL for all pages, 404 is an outage.
    """

    method: str
    url: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    immutable: bool = False
    part: str = ""
    missing_statuses: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class CanonicalAnswer:
    """The page as its site gave it; `post` is the identity the site states, which may differ from the one asked for.

    `url` and `metadata` are the post's address and what the site says about it, under the names that an observation
    uses; None means that the site knows of none.
    """

    post: PostRef
    html: str
    revision_id: str | None = None
    url: str | None = None
    metadata: Metadata = field(default_factory=dict)


class Platform(Protocol):
    """One site."""

    @property
    def name(self) -> str:
        """The platform's name on the wire."""
        ...

    @property
    def default_endpoint(self) -> str | None:
        """Where the site is asked unless told otherwise; None where it has no public source."""
        ...

    def check(self, url: str, external_id: str | None, metadata: Metadata) -> PostRef:
        """Give the post that URL and metadata agree on. Raises: IdentityMismatch."""
        ...

    def canonical_request(self, observation: Observation, endpoint: str | None = None) -> CanonicalRequest | None:
        """Describe the request for the public page; None where there is nothing to ask."""
        ...

    def parse_canonical(self, observation: Observation, body: bytes) -> CanonicalAnswer:
        """Read the answer to `canonical_request`; equal requests are read equally. Raises: CanonicalMismatch."""
        ...

    def is_own(self, url: str) -> bool:
        """Whether only the site itself can answer at this address."""
        ...

    def confirming_request(self, external_id: str, endpoint: str | None = None) -> CanonicalRequest | None:
        """Describe how the site itself is asked for a post that another host names; None: no other host is believed."""
        ...

    def parse_confirmation(self, observation: Observation, body: bytes, answered_at: str) -> CanonicalAnswer:
        """Read the answer to `confirming_request`, about the address that answered. Raises: CanonicalMismatch."""
        ...

    def address(self, observation: Observation) -> str:
        """Where the post is, for as long as only a reader says so; an address that `check` has accepted."""
        ...

    def article(self, html: str, external_id: str = "") -> Fragment:
        """Parse the HTML of that post and take out what is not the article. Raises: UnparseableHtml."""
        ...

    def extract_text(self, html: str, external_id: str = "") -> str:
        """Give the normalised text of the HTML of that post. Raises: UnparseableHtml."""
        ...

    def author(self, metadata: Metadata) -> Author | None:
        """Name the post's author on this site, if it has one."""
        ...


def metadata_text(metadata: Metadata, name: str) -> str | None:
    """Read a metadata field that is a non-empty string."""
    value = metadata.get(name)
    return value if isinstance(value, str) and value else None


def agree(what: str, stated: str | None, expected: str | None) -> None:
    """Raises: IdentityMismatch unless both are given and equal."""
    if stated is None or stated != expected:
        raise IdentityMismatch(f"{what} is {stated!r}, the URL says {expected!r}")


def is_host_of(url: str, *domains: str) -> bool:
    """Whether the host of an https URL at the usual port is one of the domains, or below one that starts with a dot."""
    try:
        parsed = URL(url)
    except ValueError:
        return False
    return (parsed.protocol, parsed.port) == ("https:", "") and any(
        parsed.hostname.endswith(domain) if domain.startswith(".") else parsed.hostname == domain for domain in domains
    )


def json_answer(body: bytes) -> object:
    """Read an answer's JSON. Raises: CanonicalMismatch."""
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise CanonicalMismatch("bad_answer", "the answer is not JSON", broken=True) from error


def text_at(document: object, *path: str) -> str | None:
    """The non-empty string at that path of nested JSON objects."""
    value = at(document, *path)
    return value if isinstance(value, str) and value else None


def at(document: object, *path: str) -> object:
    """What lies at that path of nested JSON objects; None where the path ends early."""
    for key in path:
        if not isinstance(document, dict):
            return None
        document = document.get(key)
    return document
