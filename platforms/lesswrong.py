"""LessWrong: the post's HTML from the site's GraphQL API.

The API's plain-text field is cut at 2,000 characters, so the text always comes from the HTML.
"""

from __future__ import annotations

import re
from typing import Final, Literal
from urllib.parse import quote

import orjson
from pydantic import JsonValue

from contracts.rpc.observation import MetadataWithHtml, ObservedWithId
from contracts.rpc.values import NAME_CHARACTERS, Identifier, InstantText, NonEmpty, Optional, PersonName, Title
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
    get_path,
    get_text,
    is_host_of,
    metadata_text,
    parse_json,
    require_equal,
)
from platforms.stored import StoredMetadata
from platforms.urls import check_segment, decode_component, web_page

_ENDPOINT: Final = "https://www.lesswrong.com/graphql"
_PATH = re.compile(r"/posts/([A-Za-z0-9]+)(?:/([^/]*))?(?:/.*)?")
_PROFILE_PATH = re.compile(r"/users/([^/]+)/?")
_COMMENT_ID = re.compile(r"[A-Za-z0-9]{17}")
_ID: Final = "query Page($id: String) { %s(input: {selector: {_id: $id}}) { result { _id %s } } }"
_QUERIES: Final = {
    "post": _ID % ("post", "title slug baseScore contents { html } user { displayName slug }"),
    "comment": _ID % ("comment", "deleted contents { html } user { displayName slug }"),
    "user": "query Page($id: String) "
    "{ user(input: {selector: {slug: $id}}) { result { deleted displayName slug htmlBio } } }",
}
"""The query by kind of page. External ids of comments and users begin with the kind and a slash; post ids do not."""
_NAMED: Final = "name:"
"""The prefix of the id of an author without a slug."""
_MISSING: Final = ("app.missing_document", "app.document_not_found")
_DENIED: Final = ("app.operation_not_allowed",)


class LessWrongMetadata(MetadataWithHtml):
    slug: Identifier
    title: Optional[Title] = None
    html_content: NonEmpty
    author_name: Optional[PersonName] = None
    author_slug: Identifier | None = None
    tags: tuple[NonEmpty, ...]
    published_at: Optional[InstantText] = None


class ObservedLessWrong(ObservedWithId):
    platform: Literal["LESSWRONG"]
    metadata: LessWrongMetadata


class LessWrongVersion(StoredMetadata):
    slug: stored.Text
    title: stored.OptionalTitle = None
    karma: stored.Count = None
    author_name: stored.OptionalText = None
    author_slug: stored.OptionalText = None
    tags: stored.Texts = ()
    published_at: stored.Moment = None


class LessWrong(Platform):
    """A post's identity is the id in its URL. Source: docs/protocol.md 2.1, 3.6."""

    name = "LESSWRONG"
    display_name = "LessWrong"
    domains = ("lesswrong.com",)
    observed = ObservedLessWrong
    stored = LessWrongVersion
    default_endpoint = _ENDPOINT
    endpoint_meaning = "GraphQL address"
    disputed = ("title", "author_name", "author_slug")
    proof_place = "a public post or comment of yours on LessWrong, or the bio of your profile there"

    def check(self, url: str, external_id: str | None, metadata: Metadata) -> PostRef:
        page = web_page(url)
        path = _PATH.fullmatch(page.path)
        if page.host not in ("lesswrong.com", "www.lesswrong.com") or path is None:
            raise IdentityMismatch("the URL is not that of a LessWrong post")
        require_equal("the external id", external_id, path[1])
        if path[2]:
            check_segment("the slug", metadata_text(metadata, "slug"), path[2])
        return PostRef(platform=self.name, external_id=path[1])

    def canonical_request(self, observation: Observation, endpoint: str | None = None) -> CanonicalRequest | None:
        """Request the page's HTML by its id."""
        kind, key = _split(observation.post.external_id)
        body = orjson.dumps({"query": _QUERIES[kind], "variables": {"id": key}})
        headers = (("accept", "application/json"), ("content-type", "application/json"))
        return CanonicalRequest("POST", endpoint or _ENDPOINT, headers, body)

    def parse_canonical(self, observation: Observation, body: bytes) -> CanonicalAnswer:
        """Read the post's HTML; the id is the one LessWrong states. Raises: CanonicalMismatch."""
        answer = parse_json(body)
        kind, key = _split(observation.post.external_id)
        result = get_path(answer, "data", kind, "result")
        if result is None:
            raise _no_post(answer)
        if kind != "post":
            return _own_page(observation.post, result, is_comment=kind == "comment", key=key)
        contents = get_path(result, "contents")
        html = get_text(contents, "html")
        if html is None:
            empty = isinstance(result, dict) and "contents" in result and get_path(contents, "html") in (None, "")
            raise CanonicalMismatch("no_text" if empty else "bad_answer", "LessWrong's answer holds no HTML")
        external_id = get_text(result, "_id") or observation.post.external_id
        slug, name = get_text(result, "slug"), get_text(result, "user", "displayName")
        metadata: dict[str, JsonValue] = {
            "title": get_text(result, "title"),
            "author_name": name,
            "author_slug": get_text(result, "user", "slug"),
        }
        if slug is not None:
            metadata["slug"] = slug
        karma = get_path(result, "baseScore")
        if isinstance(karma, int | float):
            metadata["karma"] = karma
        return CanonicalAnswer(
            PostRef(platform=self.name, external_id=external_id),
            html,
            url=f"https://www.lesswrong.com/posts/{external_id}" + (f"/{quote(slug, safe='')}" if slug else ""),
            metadata=metadata,
        )

    def is_own(self, url: str) -> bool:
        """Whether this URL is on the site, with or without `www.`."""
        return is_host_of(url, "www.lesswrong.com", "lesswrong.com")

    def permalink(self, url: str) -> str | None:
        """The path with the id, without the slug."""
        path = _PATH.fullmatch(web_page(url).path)
        return None if path is None else f"/posts/{path[1]}"

    def address(self, observation: Observation) -> str:
        """The post's URL with its id only: the slug is a reader's, not yet confirmed."""
        return f"https://www.lesswrong.com/posts/{observation.post.external_id}"

    def own_page(self, url: str, owner: str, post: PostRef, metadata: Metadata) -> tuple[PostRef, Metadata]:
        """Any post or comment, since LessWrong's answer names its user, or the author's own profile.

        Raises: IdentityMismatch: also for an author without a slug.
        """
        if owner.startswith(_NAMED):
            raise IdentityMismatch("LessWrong names the author without an account's slug; several may have this name")
        page = web_page(url)
        path, profile = _PATH.fullmatch(page.path), _PROFILE_PATH.fullmatch(page.path)
        comment = page.parameter("commentId") or page.fragment.removeprefix("#")
        if self.is_own(url) and profile is not None:
            require_equal("the author", owner, decode_component(profile[1]))
            return PostRef(platform=self.name, external_id=f"user/{owner}"), {}
        if self.is_own(url) and path is not None and _COMMENT_ID.fullmatch(comment):
            return PostRef(platform=self.name, external_id=f"comment/{comment}"), {}
        known = {} if path is None else {"slug": decode_component(path[2] or "")}
        return self.check(url, None if path is None else path[1], known), {}

    def author(self, metadata: Metadata) -> Author | None:
        """The user's slug, else the lower-cased name. Source: docs/protocol.md 2.1."""
        slug = metadata_text(metadata, "author_slug")
        name = metadata_text(metadata, "author_name", NAME_CHARACTERS)  # as a reader's is cut
        if slug is not None:
            return Author(platform_user_id=slug, display_name=name or slug)
        return None if name is None else Author(platform_user_id=f"{_NAMED}{name.lower()}", display_name=name)


def _split(external_id: str) -> tuple[str, str]:
    """The kind of page (a key of `_QUERIES`), and the site's own id of it."""
    kind, _, key = external_id.partition("/")
    return (kind, key) if key and kind in _QUERIES else ("post", external_id)


def _own_page(page: PostRef, result: object, *, is_comment: bool, key: str) -> CanonicalAnswer:
    """Read a comment with its user, or a profile. Raises: CanonicalMismatch: also if it was deleted."""
    if is_comment and get_text(result, "_id") != key:
        raise CanonicalMismatch("bad_answer", "LessWrong answers with another comment")
    html = get_text(result, *(("contents", "html") if is_comment else ("htmlBio",)))
    if get_path(result, "deleted") is not False or html is None:
        raise CanonicalMismatch("not_public", "LessWrong shows no text of it to the public")
    user = get_path(result, "user") if is_comment else result
    metadata: Metadata = {"author_name": get_text(user, "displayName"), "author_slug": get_text(user, "slug")}
    return CanonicalAnswer(page, html, metadata=metadata)


def _no_post(answer: object) -> CanonicalMismatch:
    """Classify a response without a post: an empty result and some errors are denials, any other error is an outage."""
    errors = get_path(answer, "errors")
    message = (get_text(errors[0], "message") or "") if isinstance(errors, list) and errors else ""
    complaint = f": {message[:200]}" if message else ""
    if any(name in message for name in _DENIED):
        return CanonicalMismatch("not_public", f"LessWrong does not show this post to the public{complaint}")
    stated = isinstance(get_path(answer, "data"), dict) and not errors
    if any(name in message for name in _MISSING) or stated:
        return CanonicalMismatch("not_found", f"LessWrong shows no such post{complaint}")
    return CanonicalMismatch("bad_answer", f"LessWrong answers with an error{complaint}")
