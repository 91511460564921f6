"""Reads which Wikipedia article a URL names.

The rules equal the extension's: stricter ones would reject readers' observations, laxer ones would accept talk pages.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from platforms.text import JS_SPACE, js_trim
from platforms.urls import Url, decode_component, parse_url

HOST = re.compile(r"([a-z0-9-]+)(\.m)?\.wikipedia\.org")
_DIGITS = re.compile("[0-9]+")
_GAPS = re.compile(f"[{JS_SPACE}_]+")
_WITH_TALK_PAGES: Final = (
    "user", "wikipedia", "file", "mediawiki", "template", "help", "category", "portal", "book", "draft",
    "education program", "timedtext", "module",
)  # fmt: skip
NOT_ARTICLES: Final = frozenset(
    ("talk", "special", "media", *_WITH_TALK_PAGES, *(f"{namespace} talk" for namespace in _WITH_TALK_PAGES))
)
"""English names of the namespaces that hold no articles. Source: docs/protocol.md 3.5."""


@dataclass(frozen=True, slots=True)
class ArticleUrl:
    """An article named by a URL: by title, page id, or both."""

    language: str
    title: str | None
    page_id: str | None


def parse_article_url(url: str) -> ArticleUrl | None:
    """Read the URL of an article; None for any other page. Source: docs/protocol.md 3.5."""
    page = parse_url(url)
    host = HOST.fullmatch(page.host.lower()) if page else None
    if page is None or host is None:
        return None
    title = _title(page)
    page_id = _page_id(page)
    if title is None and page_id is None:
        return None
    if title is not None and ":" in title and _namespace(title) in NOT_ARTICLES:
        return None
    return ArticleUrl(host[1], title, page_id)


def title_token(title: str) -> str | None:
    """Normalise a title to the form in URLs, with underscores for spaces; None if nothing is left."""
    return _GAPS.sub(" ", js_trim(title)).strip(" ").replace(" ", "_") or None


def _title(page: Url) -> str | None:
    if page.path.startswith("/wiki/"):
        title = decode_component(page.path.removeprefix("/wiki/"))
    elif page.path == "/w/index.php":
        title = page.parameter("title")
    else:
        return None
    return None if title is None else title_token(title)


def _page_id(page: Url) -> str | None:
    for name in ("curid", "pageid"):
        page_id = js_trim(page.parameter(name) or "")
        if _DIGITS.fullmatch(page_id):
            return page_id
    return None


def _namespace(title: str) -> str:
    return title.partition(":")[0].replace("_", " ").strip(" ").lower()
