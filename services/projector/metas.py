"""What each site says about a version beyond its text, as a row of that site's table.

Metadata comes from readers' browsers: whatever does not fit its column is left out here, because a row the database
refuses would hold up every later fact of that version.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final

from pydantic import JsonValue

from contracts.v1.version import VersionEvent
from platforms.text import UnparseableHtml, html_to_text
from services.projector import bounds

Row = dict[str, Any]
INT_MAX: Final = 2**31 - 1


class Unfit(ValueError):
    """The metadata lacks what its table requires."""


def _text(value: JsonValue) -> str | None:
    return value if isinstance(value, str) and value else None


def _required(metadata: dict[str, JsonValue], name: str) -> str:
    value = _text(metadata.get(name))
    if value is None:
        raise Unfit(name)
    return value


def _count(value: JsonValue) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        return None
    return min(int(value), INT_MAX)


def _moment(value: JsonValue) -> datetime | None:
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _texts(value: JsonValue) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _html(event: VersionEvent) -> Row:
    sighting = event.sighting
    return {
        "server_html_hash": sighting.server_html.sha256 if sighting.server_html else None,
        "client_html_hash": sighting.client_html.sha256 if sighting.client_html else None,
        "image_urls": list(sighting.image_urls),
    }


def _lesswrong(event: VersionEvent) -> Row:
    given = event.sighting.metadata
    if event.sighting.server_html is None and event.sighting.client_html is None:
        raise Unfit("html")
    return _html(event) | {
        "slug": _required(given, "slug"),
        "title": bounds.title(_text(given.get("title"))),
        "karma": _count(given.get("karma")),
        "author_name": _text(given.get("author_name")),
        "author_slug": _text(given.get("author_slug")),
        "tags": _texts(given.get("tags")),
        "published_at": _moment(given.get("published_at")),
    }


def _x(event: VersionEvent) -> Row:
    given = event.sighting.metadata
    return {
        "tweet_id": event.post.external_id,
        "text": _required(given, "text"),
        "author_handle": _required(given, "author_handle"),
        "author_display_name": _text(given.get("author_display_name")),
        "media_urls": _texts(given.get("media_urls")),
        "like_count": _count(given.get("like_count")),
        "retweet_count": _count(given.get("retweet_count")),
        "posted_at": _moment(given.get("posted_at")),
    }


def _substack(event: VersionEvent) -> Row:
    given = event.sighting.metadata
    return _html(event) | {
        "substack_post_id": event.post.external_id,
        "publication_subdomain": _required(given, "publication_subdomain"),
        "slug": _required(given, "slug"),
        "title": bounds.title(_required(given, "title")),
        "subtitle": bounds.title(_text(given.get("subtitle"))),
        "author_name": bounds.name(_required(given, "author_name")),
        "author_substack_handle": _text(given.get("author_substack_handle")),
        "published_at": _moment(given.get("published_at")),
        "like_count": _count(given.get("like_count")),
        "comment_count": _count(given.get("comment_count")),
    }


def _wikipedia(event: VersionEvent) -> Row:
    given = event.sighting.metadata
    language, _, page_id = event.post.external_id.partition(":")
    return _html(event) | {
        "page_id": page_id,
        "language": language,
        "title": bounds.title(_required(given, "title")),
        "display_title": bounds.title(_text(given.get("display_title"))),
        "revision_id": _required(given, "revision_id"),
        "last_modified_at": _moment(given.get("last_modified_at")),
    }


_BUILDERS: Final[dict[str, tuple[str, Callable[[VersionEvent], Row]]]] = {
    "LESSWRONG": ("lesswrong_version_meta", _lesswrong),
    "X": ("x_version_meta", _x),
    "SUBSTACK": ("substack_version_meta", _substack),
    "WIKIPEDIA": ("wikipedia_version_meta", _wikipedia),
}

NEEDS_SERVER_HTML: Final = frozenset({"LESSWRONG", "SUBSTACK", "WIKIPEDIA"})


def meta(event: VersionEvent) -> tuple[str, Row] | None:
    """The table and row of a sighting; None for a site without a table, or metadata that does not make a row."""
    known = _BUILDERS.get(event.post.platform)
    if known is None:
        return None
    table, build = known
    try:
        return table, build(event)
    except Unfit:
        return None


def title_of(event: VersionEvent) -> str | None:
    """A post's title as people read it: of an article, the one it is displayed with, which may hold markup."""
    given = event.sighting.metadata
    title = _text(given.get("title"))
    if event.post.platform == "WIKIPEDIA":
        title = _displayed(_text(given.get("display_title"))) or (title.replace("_", " ") if title else None)
    return bounds.title(title)


def _displayed(title: str | None) -> str | None:
    """The text of a title with markup. It is parsed here, between other facts, so it must be short."""
    if title is None or len(title) > bounds.MAX_TITLE:
        return None
    try:
        return html_to_text(title) or None
    except UnparseableHtml:
        return None


def merge(older: Row, newer: Row) -> Row:
    """Two sightings of one version: the site's newest, or the first of a reader; and a reader's first HTML."""
    row = older | newer if newer["server_html_hash"] else older
    return row | {
        "created_at": older["created_at"],
        "client_html_hash": older["client_html_hash"] or newer["client_html_hash"],
    }
