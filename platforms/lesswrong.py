"""LessWrong: the post's own HTML from the site's GraphQL, whatever the reader's browser made of it.

The plain-text field of that API is cut at 2,000 characters, so the text always comes from the HTML.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote

import orjson
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
from platforms.urls import check_segment, web_page

_PATH = re.compile(r"/posts/([A-Za-z0-9]+)(?:/([^/]*))?(?:/.*)?")
_QUERY: Final = (
    "query Post($id: String) { post(input: {selector: {_id: $id}}) "
    "{ result { _id title slug baseScore contents { html } user { displayName slug } } } }"
)
_MISSING: Final = ("app.missing_document", "app.document_not_found")
_DENIED: Final = ("app.operation_not_allowed",)


class LessWrong:
    """A post's identity is the id in its URL. Source: docs/protocol.md 2.1, 3.6."""

    name: Final = "LESSWRONG"
    default_endpoint: Final = "https://www.lesswrong.com/graphql"

    def check(self, url: str, external_id: str | None, metadata: Metadata) -> PostRef:
        """Give the post that URL and metadata agree on. Raises: IdentityMismatch."""
        page = web_page(url)
        path = _PATH.fullmatch(page.path)
        if page.host not in ("lesswrong.com", "www.lesswrong.com") or path is None:
            raise IdentityMismatch("the URL is not that of a LessWrong post")
        agree("the external id", external_id, path[1])
        if path[2]:
            check_segment("the slug", metadata_text(metadata, "slug"), path[2])
        return PostRef(platform=self.name, external_id=path[1])

    def canonical_request(self, observation: Observation, endpoint: str | None = None) -> CanonicalRequest | None:
        """Ask for the post's HTML by its id."""
        body = orjson.dumps({"query": _QUERY, "variables": {"id": observation.post.external_id}})
        headers = (("accept", "application/json"), ("content-type", "application/json"))
        return CanonicalRequest("POST", endpoint or self.default_endpoint, headers, body)

    def parse_canonical(self, observation: Observation, body: bytes) -> CanonicalAnswer:
        """Read the post's HTML; the id is the one LessWrong states. Raises: CanonicalMismatch."""
        answer = json_answer(body)
        result = at(answer, "data", "post", "result")
        if result is None:
            raise _no_post(answer)
        contents = at(result, "contents")
        html = text_at(contents, "html")
        if html is None:
            empty = isinstance(result, dict) and "contents" in result and at(contents, "html") in (None, "")
            raise CanonicalMismatch("no_text" if empty else "bad_answer", "LessWrong's answer holds no HTML")
        external_id = text_at(result, "_id") or observation.post.external_id
        slug, name = text_at(result, "slug"), text_at(result, "user", "displayName")
        metadata: dict[str, JsonValue] = {
            "title": text_at(result, "title"),
            "author_name": name,
            "author_slug": text_at(result, "user", "slug"),
        }
        if slug is not None:
            metadata["slug"] = slug
        karma = at(result, "baseScore")
        if isinstance(karma, int | float):
            metadata["karma"] = karma
        return CanonicalAnswer(
            PostRef(platform=self.name, external_id=external_id),
            html,
            url=f"https://www.lesswrong.com/posts/{external_id}" + (f"/{quote(slug, safe='')}" if slug else ""),
            metadata=metadata,
        )

    def is_own(self, url: str) -> bool:
        """LessWrong's two names."""
        return is_host_of(url, "www.lesswrong.com", "lesswrong.com")

    def confirming_request(self, external_id: str, endpoint: str | None = None) -> CanonicalRequest | None:
        """LessWrong never redirects its interface to another domain."""
        return None

    def parse_confirmation(self, observation: Observation, body: bytes, answered_at: str) -> CanonicalAnswer:
        """Raises: CanonicalMismatch, always."""
        raise CanonicalMismatch("bad_answer", "there is nobody to confirm an answer from elsewhere")

    def address(self, observation: Observation) -> str:
        """By its id alone: the slug is a reader's words."""
        return f"https://www.lesswrong.com/posts/{observation.post.external_id}"

    def article(self, html: str, external_id: str = "") -> Fragment:
        """Parse the HTML without what is not its text. Raises: UnparseableHtml."""
        return article(html)

    def extract_text(self, html: str, external_id: str = "") -> str:
        """Give the post's text. Raises: UnparseableHtml."""
        return html_to_text(html)

    def author(self, metadata: Metadata) -> Author | None:
        """The user's slug, else the lower-cased name. Source: docs/protocol.md 2.1."""
        slug = metadata_text(metadata, "author_slug")
        name = metadata_text(metadata, "author_name")
        if slug is not None:
            return Author(platform_user_id=slug, display_name=name or slug)
        return None if name is None else Author(platform_user_id=f"name:{name.lower()}", display_name=name)


def _no_post(answer: object) -> CanonicalMismatch:
    """Why there is no post: LessWrong denies it by an empty result or by name; any other error is its own trouble."""
    errors = at(answer, "errors")
    message = (text_at(errors[0], "message") or "") if isinstance(errors, list) and errors else ""
    complaint = f": {message[:200]}" if message else ""
    if any(name in message for name in _DENIED):
        return CanonicalMismatch("not_public", f"LessWrong does not show this post to the public{complaint}")
    stated = isinstance(at(answer, "data"), dict) and not errors
    if any(name in message for name in _MISSING) or stated:
        return CanonicalMismatch("not_found", f"LessWrong shows no such post{complaint}")
    return CanonicalMismatch("bad_answer", f"LessWrong answers with an error{complaint}")
