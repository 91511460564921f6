"""The interface of a site. Pure: a site describes the request for the public page and parses the response.

Requests are sent elsewhere, so that all sites are rate-limited, cached and guarded in one place and tested with bytes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import ClassVar, Final, Literal, NamedTuple

import orjson
from ada_url import URL
from pydantic import JsonValue, ValidationError

from contracts.rpc.observation import Observed
from contracts.v1.pages import Observation
from contracts.v1.parts import Author, PostRef
from platforms.markup import Fragment
from platforms.stored import Document, StoredMetadata
from platforms.text import article, html_to_text, normalize

Metadata = Mapping[str, JsonValue]
"""Metadata that the extension read from the page: the wire's names in snake_case, without HTML."""


class IdentityMismatch(ValueError):
    """The observation contradicts its URL, or is not of a post of this site; `reason` says how."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


HIDDEN_BY_AUTHOR: Final = "hidden_by_author"
Mismatch = Literal[
    "bad_answer",
    "not_found",
    "other_revision",
    "not_public",
    "hidden_by_author",
    "no_text",
    "other_publication",
    "other_host",
]

Prover = Literal["author", "contributor"]

NO_PUBLIC_SOURCE: Final = "no_public_source"
REFUSALS: Final = frozenset(
    {"not_found", "other_revision", "not_public", HIDDEN_BY_AUTHOR, "no_text", NO_PUBLIC_SOURCE}
)
"""The reasons that mean that the site does not show this page to the public, and `NO_PUBLIC_SOURCE`, for observations
without a canonical request. All other reasons are outages, which say nothing about the page."""


class CanonicalMismatch(ValueError):
    """The site's response is not the requested page; the message is one sentence for an operator.

    `reason` is a short code for metrics. `broken`: the site as a whole fails, not only this page.
    """

    def __init__(self, reason: Mismatch, detail: str, *, broken: bool = False) -> None:
        super().__init__(detail)
        self.reason = reason
        self.broken = broken


@dataclass(frozen=True, slots=True)
class CanonicalRequest:
    """The request for a post's public page. Equal requests are for the same page.

    `immutable`: the response never changes, so it may be cached without expiry. `part` is the part of the site that is
    requested, where the URL does not show it. `missing_statuses` are the HTTP statuses that mean that the page does not
    exist; from an API with one URL for all pages, 404 is an outage. Responses with `readable_statuses` have a body to
    parse. `max_bytes` limits the response; None: the limit of all sites.
    """

    method: str
    url: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    immutable: bool = False
    part: str = ""
    missing_statuses: frozenset[int] = frozenset()
    readable_statuses: frozenset[int] = frozenset()
    max_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class SiteAnswer:
    """The response to a request: status 200, or one that the request calls readable.

    `elsewhere` is the final URL if that or a redirect on the way is outside the site, else None.
    """

    status: int
    body: bytes
    received_at: datetime
    elsewhere: str | None = None


class Sequence(NamedTuple):
    """A position in a series that only advances, such as the revisions of a repository; `at` sorts as text."""

    series: str
    at: str


@dataclass(frozen=True, slots=True)
class CanonicalAnswer:
    """The page as its site served it; `post` is the identity the site states, which may differ from the requested one.

    `url` and `metadata` are the post's address and what the site says about it, under the names that an observation
    uses; None: the site states no such value. With `proof`, the page can be checked again without asking its site.
    An answer is out of date if another one comes later in the same `sequence`.
    """

    post: PostRef
    html: str
    revision_id: str | None = None
    url: str | None = None
    metadata: Metadata = field(default_factory=dict)
    proof: bytes | None = None
    sequence: Sequence | None = None


Steps = Generator[CanonicalRequest, SiteAnswer, CanonicalAnswer]
"""Requests that build on one another: each response is sent in, and the page is returned."""


class Platform(ABC):
    """One site, with everything specific to it in its own module.

    Shapes: `name` is the wire's, `display_name` is for people; every host below `domains` belongs to the site.
    `observed` is the shape of observations, `stored` that of metadata in the read model. `default_endpoint` is the
    address of the public source unless configured otherwise, `endpoint_meaning` its kind; None without one. `disputed`
    names the metadata in which readers and site are compared; the rest changes too often. `further_endpoints` are other
    addresses that an operator may set: (default, meaning) by name. `confirmation` says how a text is confirmed; None:
    by the site. `confirms_elsewhere`: its `steps` ask the site to confirm another host's answer. `proof_place` is where
    authors can publish a token that proves who they are; None: nowhere. `prover` is the role that this proves.
    """

    name: ClassVar[str]
    display_name: ClassVar[str]
    domains: ClassVar[tuple[str, ...]]
    observed: ClassVar[type[Observed]]
    stored: ClassVar[type[StoredMetadata]]
    default_endpoint: ClassVar[str | None] = None
    endpoint_meaning: ClassVar[str | None] = None
    further_endpoints: ClassVar[Mapping[str, tuple[str, str]]] = {}
    disputed: ClassVar[tuple[str, ...]] = ("title", "author_name")
    confirmation: ClassVar[str | None] = None
    confirms_elsewhere: ClassVar[bool] = False
    proof_place: ClassVar[str | None] = None
    prover: ClassVar[Prover] = "author"

    @abstractmethod
    def check(self, url: str, external_id: str | None, metadata: Metadata) -> PostRef:
        """Return the post that URL and metadata agree on. Raises: IdentityMismatch."""

    @abstractmethod
    def address(self, observation: Observation) -> str:
        """The post's URL until its site confirms one; `check` has accepted the observation."""

    @abstractmethod
    def author(self, metadata: Metadata) -> Author | None:
        """The post's author on this site; None if the metadata name none."""

    def canonical_request(self, observation: Observation, endpoint: str | None = None) -> CanonicalRequest | None:
        """The request for the public page; None if the page has no public source."""
        return None

    def parse_canonical(self, observation: Observation, body: bytes) -> CanonicalAnswer:
        """Parse the response to `canonical_request`; deterministic for equal requests. Raises: CanonicalMismatch."""
        raise CanonicalMismatch("not_public", f"{self.display_name} has no public source")

    def steps(self, observation: Observation, endpoints: Mapping[str, str]) -> Steps | None:
        """Fetch the public page, one request after another; None if there is none. `endpoints` are by name.

        The first request is that of the page: equal for equal pages. Raises, while it runs: CanonicalMismatch.
        """
        request = self.canonical_request(observation, endpoints.get(self.name))
        return None if request is None else self._one_step(observation, request)

    def _one_step(self, observation: Observation, request: CanonicalRequest) -> Steps:
        answer = yield request
        return self.parse_canonical(observation, answer.body)

    def required_owner(self, author: str | None, post: PostRef, metadata: Metadata) -> str | None:
        """The owner that a page must have to prove who wrote the post with this stored metadata; None if unknown.

        `author` is the account that the site names for the post.
        """
        return author

    def own_page(self, url: str, owner: str, post: PostRef, metadata: Metadata) -> tuple[PostRef, Metadata]:
        """The page at this URL, for a request that checks whether `owner` wrote it.

        A page that is not a post, such as a profile, has an id that `check` never returns.
        Raises: IdentityMismatch: the URL is not that of a page that `owner` can have.
        """
        raise IdentityMismatch(f"{self.display_name} has no place where authors can prove who they are")

    def owner(self, metadata: Metadata) -> str | None:
        """The owner of a page, as `required_owner` names them; None if the metadata name none."""
        author = self.author(metadata)
        return None if author is None else author.platform_user_id

    def own_words(self, html: str, external_id: str = "") -> str:
        """The normalised text of a page without its block quotations. Raises: UnparseableHtml."""
        page = self.article(html, external_id)
        page.remove("blockquote")
        return normalize(page.separated_text())

    def is_own(self, url: str) -> bool:
        """Whether this URL is on the site's own hosts."""
        return False

    def permalink(self, url: str) -> str | None:
        """The part that all URLs of a post share, given one of them; None for other pages. Raises: IdentityMismatch."""
        return None

    def article(self, html: str, external_id: str = "") -> Fragment:
        """Parse the post's HTML and remove what is not the article. Raises: UnparseableHtml."""
        return article(html)

    def extract_text(self, html: str, external_id: str = "") -> str:
        """Extract the normalised text of the post's HTML. Raises: UnparseableHtml."""
        return html_to_text(html)

    def title(self, metadata: Metadata) -> str | None:
        """The post's title for display."""
        return metadata_text(metadata, "title")

    def fields_of_id(self, external_id: str) -> Metadata:
        """Metadata derived from the post's id, which override the observed ones."""
        return {}

    def revisions(self, stored: Document) -> tuple[str, ...]:
        """Names of the version with this stored metadata, as its page shows them, such as the revision id."""
        return ()

    def document(self, post: PostRef, metadata: Metadata) -> Document | None:
        """The metadata to store; None if it lacks what this site's model requires."""
        try:
            checked = self.stored.model_validate({**metadata, **self.fields_of_id(post.external_id)})
        except ValidationError:
            return None
        return checked.model_dump(mode="json", exclude_none=True)


def metadata_text(metadata: Metadata, name: str, most: int | None = None) -> str | None:
    """Read a metadata field that is a non-empty string; units: its first `most` characters, else all."""
    value = metadata.get(name)
    return value[:most] if isinstance(value, str) and value else None


def require_equal(what: str, stated: str | None, expected: str | None) -> None:
    """Refuse a stated value that is missing or not the expected one. Raises: IdentityMismatch."""
    if stated is None or stated != expected:
        raise IdentityMismatch(f"{what} is {stated!r}, the URL says {expected!r}")


def is_host_of(url: str, *domains: str) -> bool:
    """Whether `url` is an https URL at the default port on one of the domains, or below one that starts with a dot."""
    try:
        parsed = URL(url)
    except ValueError:
        return False
    return (parsed.protocol, parsed.port) == ("https:", "") and any(
        parsed.hostname.endswith(domain) if domain.startswith(".") else parsed.hostname == domain for domain in domains
    )


def parse_json(body: bytes) -> object:
    """Parse a response's JSON. Raises: CanonicalMismatch: the body is not JSON."""
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise CanonicalMismatch("bad_answer", "the answer is not JSON", broken=True) from error


def get_text(document: object, *path: str) -> str | None:
    """The non-empty string at that path of nested JSON objects; None if there is none."""
    value = get_path(document, *path)
    return value if isinstance(value, str) and value else None


def get_path(document: object, *path: str) -> object:
    """The value at that path of nested JSON objects; None if there is none."""
    for key in path:
        if not isinstance(document, dict):
            return None
        document = document.get(key)
    return document
