"""Wikipedia: every language, pinned to the revision the reader saw.

A revision never changes; the current one may have another text than the one the reader saw.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Final, Literal
from urllib.parse import quote, urlencode

from pydantic import Field, JsonValue

from contracts.rpc.observation import MetadataWithHtml, ObservedWithText
from contracts.rpc.values import TITLE_CHARACTERS, Digits, InstantText, Language, Optional, TitleMarkup
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
from platforms.markup import Fragment
from platforms.markup_cost import UnparseableHtml
from platforms.stored import Document, StoredMetadata
from platforms.text import html_to_text, js_trim
from platforms.urls import parse_url, web_page
from platforms.wikipedia_api import DIGITS, ENDPOINT, check_answer, parse_number
from platforms.wikipedia_edits import CONTRIBUTED, edit_steps, parse_edit_url, read_word
from platforms.wikipedia_identity import parse_article_url, title_token
from platforms.wikipedia_text import article, article_text

_LANGUAGE = re.compile("[a-z][a-z0-9-]*")
_QUERY: Final = {"action": "parse", "format": "json", "formatversion": "2", "prop": "text|revid|displaytitle"}
_OF_TITLES: Final = "/:,;@$!*()'~"
_TITLE_HTML: Final = 8_000
_TITLE: Final = TITLE_CHARACTERS
"""Units: characters."""


class WikipediaMetadata(MetadataWithHtml):
    language: Language
    title: Annotated[str, Field(min_length=1, max_length=TITLE_CHARACTERS)]
    page_id: Digits
    revision_id: Digits
    display_title: Optional[TitleMarkup] = None
    last_modified_at: Optional[InstantText] = None


class ObservedWikipedia(ObservedWithText):
    platform: Literal["WIKIPEDIA"]
    metadata: WikipediaMetadata


class WikipediaVersion(StoredMetadata):
    page_id: str
    language: str
    title: stored.Title
    display_title: stored.OptionalTitle = None
    revision_id: stored.Text
    last_modified_at: stored.Moment = None


class Wikipedia(Platform):
    """An article's identity is `<language>:<page id>`. Source: docs/protocol.md 2.1, 3.5."""

    name = "WIKIPEDIA"
    display_name = "Wikipedia"
    domains = ("wikipedia.org",)
    observed = ObservedWikipedia
    stored = WikipediaVersion
    default_endpoint = ENDPOINT
    endpoint_meaning = "api.php address"
    disputed = ("title",)
    prover = "contributor"
    proof_place = (
        "the summary of an edit, of any page of the same language and with nothing else in it, by an account that had "
        "edited the article by the revision that was looked at"
    )

    def check(self, url: str, external_id: str | None, metadata: Metadata) -> PostRef:
        """Return the article that URL and metadata agree on. Raises: IdentityMismatch."""
        web_page(url)
        page = parse_article_url(url)
        if page is None:
            raise IdentityMismatch("the URL is not that of a Wikipedia article")
        language = js_trim(metadata_text(metadata, "language") or "").lower()
        title = title_token(metadata_text(metadata, "title") or "")
        page_id = _digits(metadata, "page_id")
        if _digits(metadata, "revision_id") is None:
            raise IdentityMismatch("the revision id is not a number")
        if page_id is None:
            raise IdentityMismatch("the page id is not a number")
        if title is None:
            raise IdentityMismatch("the title is blank")
        require_equal("the language", language, page.language)
        if page.page_id is not None:
            require_equal("the page id", page_id, page.page_id)
        else:
            require_equal("the title", title, page.title)
        post = PostRef(platform=self.name, external_id=f"{language}:{page_id}")
        if external_id is not None:
            require_equal("the external id", external_id, post.external_id)
        return post

    def revisions(self, stored: Document) -> tuple[str, ...]:
        """The revision id, which always names the same text."""
        revision = metadata_text(stored, "revision_id")
        return () if revision is None else (revision,)

    def canonical_request(self, observation: Observation, endpoint: str | None = None) -> CanonicalRequest | None:
        """Request exactly the observed revision from the article's language."""
        language = observation.post.external_id.partition(":")[0]
        revision_id = _digits(observation.metadata, "revision_id")
        if revision_id is None or not _LANGUAGE.fullmatch(language):
            return None
        query = urlencode(_QUERY | {"oldid": revision_id})
        base = (endpoint or ENDPOINT).replace("{language}", language)
        accept = (("accept", "application/json"),)
        return CanonicalRequest("GET", f"{base}?{query}", accept, immutable=True, part=language)

    def parse_canonical(self, observation: Observation, body: bytes) -> CanonicalAnswer:
        """Read the rendered revision; the page id is the one Wikipedia states. Raises: CanonicalMismatch."""
        answer = parse_json(body)
        check_answer(answer)
        html = get_path(answer, "parse", "text")
        revision_id = parse_number(get_path(answer, "parse", "revid"))
        page_id = parse_number(get_path(answer, "parse", "pageid"))
        if not isinstance(html, str) or revision_id is None or page_id is None:
            raise CanonicalMismatch("bad_answer", "the answer lacks text, revision or page id")
        if revision_id != _digits(observation.metadata, "revision_id"):
            raise CanonicalMismatch("other_revision", f"the answer holds revision {revision_id}, not the one asked for")
        language = observation.post.external_id.partition(":")[0]
        post = PostRef(platform=self.name, external_id=f"{language}:{page_id}")
        metadata: dict[str, JsonValue] = {
            "language": language,
            "page_id": page_id,
            "revision_id": revision_id,
            "display_title": _display_title(get_text(answer, "parse", "displaytitle")),
        }
        title = title_token(get_text(answer, "parse", "title") or "")
        if title is None:
            url = _page(language, f"?curid={page_id}")
            return CanonicalAnswer(post, html, revision_id, url, metadata | {"title": None})
        url = _page(language, _title_path(title))
        return CanonicalAnswer(post, html, revision_id, url, metadata | {"title": title})

    def is_own(self, url: str) -> bool:
        """Whether this URL is on Wikipedia, in any language, since Wikipedia redirects old language codes."""
        return is_host_of(url, ".wikipedia.org")

    def permalink(self, url: str) -> str | None:
        """The article's URL on its language's main host, without scheme and section."""
        page = parse_article_url(url)
        if page is None:
            return None
        path = f"?curid={page.page_id}" if page.title is None else _title_path(page.title)
        return f"{page.language}.wikipedia.org/{path}"

    def address(self, observation: Observation) -> str:
        """The article's URL with its page id only, on the reader's host: the title is a reader's, not yet confirmed."""
        page = parse_url(observation.url)
        language, _, page_id = observation.post.external_id.partition(":")
        return f"https://{page.host if page else f'{language}.wikipedia.org'}/?curid={page_id}"

    def article(self, html: str, external_id: str = "") -> Fragment:
        """Parse the HTML and remove what is not the article's text. Raises: UnparseableHtml."""
        return article(html, external_id.partition(":")[0])

    def extract_text(self, html: str, external_id: str = "") -> str:
        """Extract the article's text without notes, references and navigation. Raises: UnparseableHtml."""
        return article_text(html, external_id.partition(":")[0])

    def author(self, metadata: Metadata) -> Author | None:
        """None: articles have no single author. Source: requirements 3.12."""
        return None

    def steps(self, observation: Observation, endpoints: Mapping[str, str]) -> Steps | None:
        """Fetch an article's revision, or an edit and its account's earlier edit of the article."""
        return edit_steps(observation.post, endpoints.get(self.name)) or super().steps(observation, endpoints)

    def required_owner(self, author: str | None, post: PostRef, metadata: Metadata) -> str | None:
        """The contributors to the article by this revision, as `<language>:<page>@<revision>`."""
        revision = _digits(metadata, "revision_id")
        return None if revision is None else f"{post.external_id}@{revision}"

    def own_page(self, url: str, owner: str, post: PostRef, metadata: Metadata) -> tuple[PostRef, Metadata]:
        """An edit in the article's language: account ids differ between languages."""
        web_page(url)
        edit = parse_edit_url(url)
        if edit is None:
            raise IdentityMismatch("the URL is not that of an edit of Wikipedia")
        require_equal("the language", post.external_id.partition(":")[0], edit.language)
        return PostRef(platform=self.name, external_id=f"{owner}/{edit.revision}"), {}

    def owner(self, metadata: Metadata) -> str | None:
        """The article and revision that the account of an edit contributed to, as `required_owner` names them."""
        return metadata_text(metadata, CONTRIBUTED)

    def own_words(self, html: str, external_id: str = "") -> str:
        """The summary of an edit if it is one word, else empty. Raises: UnparseableHtml."""
        return read_word(html_to_text(html))

    def fields_of_id(self, external_id: str) -> Metadata:
        """The language and the page id, which the site may have corrected."""
        language, _, page_id = external_id.partition(":")
        return {"language": language, "page_id": page_id}

    def title(self, metadata: Metadata) -> str | None:
        """The displayed title without its markup, else the title."""
        title = metadata_text(metadata, "title")
        # The markup is parsed wherever titles are read, also in the projector, so it must be short.
        displayed = _display_title(metadata_text(metadata, "display_title"), _TITLE)
        return displayed or (title.replace("_", " ") if title else None)


def _page(language: str, path: str) -> str:
    return f"https://{language}.wikipedia.org/{path}"


def _title_path(title: str) -> str:
    return f"wiki/{quote(title, safe=_OF_TITLES)}"


def _display_title(html: str | None, limit: int = _TITLE_HTML) -> str | None:
    """The displayed title as text; None if there is none or it is not a title."""
    if html is None or len(html) > limit:
        return None
    try:
        text = html_to_text(html)
    except UnparseableHtml:
        return None
    return text if 0 < len(text) <= _TITLE else None


def _digits(metadata: Metadata, name: str) -> str | None:
    digits = js_trim(metadata_text(metadata, name) or "")
    return digits if DIGITS.fullmatch(digits) else None
