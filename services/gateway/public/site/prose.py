"""Renders the model's Markdown as HTML with text and links only.

Two barriers: the renderer makes no raw HTML and no pictures, and its output is sanitised.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

import nh3
from markdown_it import MarkdownIt
from markupsafe import Markup

LONGEST: Final = 8_000
_TAGS: Final = {"a", "blockquote", "code", "em", "li", "ol", "p", "pre", "strong", "ul"}
_LOWER: Final = {"h1": "h2", "h2": "h3", "h3": "h4"}
_MARKDOWN: Final = MarkdownIt("commonmark", {"html": False, "maxNesting": 12}).disable(["image", "html_inline"])


@lru_cache(512)
def render_markdown(markdown: str) -> Markup:
    """Render Markdown as safe HTML; headings become paragraphs, since the page has its own."""
    shown = markdown if len(markdown) <= LONGEST else markdown[:LONGEST] + " …"
    return _render(shown, {})


def render_report(markdown: str) -> Markup:
    """Render a whole report as safe HTML below the heading of its page."""
    return _render(markdown, _LOWER)


def _render(markdown: str, headings: Mapping[str, str]) -> Markup:
    tokens = _MARKDOWN.parse(markdown)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = headings.get(token.tag, "p")
    html = _MARKDOWN.renderer.render(tokens, _MARKDOWN.options, {})
    cleaned = nh3.clean(
        html,
        tags={*_TAGS, *headings.values()},
        attributes={"a": {"href"}, "*": set()},
        url_schemes={"http", "https"},
        link_rel="nofollow noopener ugc",
    )
    return Markup(cleaned)  # noqa: S704 (cleaned one line above)


def strip_markdown(markdown: str) -> str:
    """The text of Markdown without markup, as one paragraph."""
    words = []
    for token in _MARKDOWN.parse(markdown[:LONGEST]):
        parts = token.children or ([token] if token.type in ("fence", "code_block") else [])
        words.append("".join(" " if "break" in part.type else part.content for part in parts))
    return " ".join(" ".join(words).split())
