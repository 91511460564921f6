"""Wikipedia: every language, pinned to the revision the reader saw.

A revision never changes, so what the MediaWiki API answers for it is the page. Asking for the current one instead would
verify another text than the reader's.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote, urlencode

from pydantic import JsonValue

from contracts.v1.parts import Author, Observation, PostRef
from platforms.base import (
    CanonicalAnswer,
    CanonicalMismatch,
    CanonicalRequest,
    IdentityMismatch,
    Metadata,
    Mismatch,
    agree,
    at,
    is_host_of,
    json_answer,
    metadata_text,
    text_at,
)
from platforms.markup import Fragment
from platforms.text import UnparseableHtml, html_to_text, js_trim
from platforms.urls import parse_url, web_page
from platforms.wikipedia_identity import parse_article_url, title_token
from platforms.wikipedia_text import article, article_text

_LANGUAGE = re.compile("[a-z][a-z0-9-]*")
_DIGITS = re.compile("[0-9]+")
_QUERY: Final = {"action": "parse", "format": "json", "formatversion": "2", "prop": "text|revid|displaytitle"}
_OF_TITLES: Final = "/:,;@$!*()'~"
_NO_PAGE: Final = frozenset(
    (
        "nosuchrevid", "missingtitle", "nosuchpageid", "missingcontent-revid",
        "badinteger", "integeroutofrange", "invalidtitle", "pagecannotexist",
    )
)  # fmt: skip
_NOT_PUBLIC: Final = frozenset({"permissiondenied", "readapidenied"})
_NOT_NOW: Final = frozenset({"maxlag", "ratelimited", "readonly"})
"""Errors that say something about the wiki. The others are about the question, which a stranger may have made up."""
_TITLE_HTML: Final = 8_000
_TITLE: Final = 1_000
"""Units: characters."""


class Wikipedia:
    """An article's identity is `<language>:<page id>`. Source: docs/protocol.md 2.1, 3.5."""

    name: Final = "WIKIPEDIA"
    default_endpoint: Final = "https://{language}.wikipedia.org/w/api.php"

    def check(self, url: str, external_id: str | None, metadata: Metadata) -> PostRef:
        """Give the article that URL and metadata agree on. Raises: IdentityMismatch."""
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
        agree("the language", language, page.language)
        if page.page_id is not None:
            agree("the page id", page_id, page.page_id)
        else:
            agree("the title", title, page.title)
        post = PostRef(platform=self.name, external_id=f"{language}:{page_id}")
        if external_id is not None:
            agree("the external id", external_id, post.external_id)
        return post

    def canonical_request(self, observation: Observation, endpoint: str | None = None) -> CanonicalRequest | None:
        """Ask the article's own language for exactly the revision that was seen."""
        language = observation.post.external_id.partition(":")[0]
        revision_id = _digits(observation.metadata, "revision_id")
        if revision_id is None or not _LANGUAGE.fullmatch(language):
            return None
        query = urlencode(_QUERY | {"oldid": revision_id})
        base = (endpoint or self.default_endpoint).replace("{language}", language)
        accept = (("accept", "application/json"),)
        return CanonicalRequest("GET", f"{base}?{query}", accept, immutable=True, part=language)

    def parse_canonical(self, observation: Observation, body: bytes) -> CanonicalAnswer:
        """Read the rendered revision; the page id is the one Wikipedia states. Raises: CanonicalMismatch."""
        answer = json_answer(body)
        if (code := at(answer, "error", "code")) is not None:
            reason: Mismatch = "bad_answer"
            if code in _NO_PAGE:
                reason = "not_found"
            elif code in _NOT_PUBLIC:
                reason = "not_public"
            said = f"Wikipedia answers with an error: {str(code)[:200]}"
            raise CanonicalMismatch(reason, said, broken=code in _NOT_NOW)
        html = at(answer, "parse", "text")
        revision_id = _number(at(answer, "parse", "revid"))
        page_id = _number(at(answer, "parse", "pageid"))
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
            "display_title": _displayed(text_at(answer, "parse", "displaytitle")),
        }
        title = title_token(text_at(answer, "parse", "title") or "")
        if title is None:
            url = _page(language, f"?curid={page_id}")
            return CanonicalAnswer(post, html, revision_id, url, metadata | {"title": None})
        path = f"wiki/{quote(title, safe=_OF_TITLES)}"
        return CanonicalAnswer(post, html, revision_id, _page(language, path), metadata | {"title": title})

    def is_own(self, url: str) -> bool:
        """Any language: Wikipedia redirects the old names of its languages."""
        return is_host_of(url, ".wikipedia.org")

    def confirming_request(self, external_id: str, endpoint: str | None = None) -> CanonicalRequest | None:
        """Wikipedia never redirects its interface to another domain."""
        return None

    def parse_confirmation(self, observation: Observation, body: bytes, answered_at: str) -> CanonicalAnswer:
        """Raises: CanonicalMismatch, always."""
        raise CanonicalMismatch("bad_answer", "there is nobody to confirm an answer from elsewhere")

    def address(self, observation: Observation) -> str:
        """By its page id alone, on the reader's host: the title is a reader's words."""
        page = parse_url(observation.url)
        language, _, page_id = observation.post.external_id.partition(":")
        return f"https://{page.host if page else f'{language}.wikipedia.org'}/?curid={page_id}"

    def article(self, html: str, external_id: str = "") -> Fragment:
        """Parse the HTML without what is not its text. Raises: UnparseableHtml."""
        return article(html, external_id.partition(":")[0])

    def extract_text(self, html: str, external_id: str = "") -> str:
        """Give the article's text without notes, references and navigation. Raises: UnparseableHtml."""
        return article_text(html, external_id.partition(":")[0])

    def author(self, metadata: Metadata) -> Author | None:
        """Articles have no single author. Source: requirements 3.12."""
        return None


def _page(language: str, path: str) -> str:
    return f"https://{language}.wikipedia.org/{path}"


def _displayed(html: str | None) -> str | None:
    """The title as the article shows it, as text; None where there is none or it is no title."""
    if html is None or len(html) > _TITLE_HTML:
        return None
    try:
        text = html_to_text(html)
    except UnparseableHtml:
        return None
    return text if 0 < len(text) <= _TITLE else None


def _digits(metadata: Metadata, name: str) -> str | None:
    digits = js_trim(metadata_text(metadata, name) or "")
    return digits if _DIGITS.fullmatch(digits) else None


def _number(value: object) -> str | None:
    """An id the API gives as a number or as a string of digits."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return str(value)
    return value if isinstance(value, str) and _DIGITS.fullmatch(value) else None
