"""Renders the model's Markdown as HTML with text and links only.

Two barriers: the renderer makes no raw HTML and no pictures, and its output is sanitised.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import nh3
from markdown_it import MarkdownIt
from markupsafe import Markup

LONGEST: Final = 8_000
_TAGS: Final = {"a", "blockquote", "code", "em", "li", "ol", "p", "pre", "strong", "ul"}
_MARKDOWN: Final = MarkdownIt("commonmark", {"html": False, "maxNesting": 12}).disable(["image", "html_inline"])


@lru_cache(512)
def render_markdown(markdown: str) -> Markup:
    """Render Markdown as safe HTML; headings become paragraphs, since the page has its own."""
    shown = markdown if len(markdown) <= LONGEST else markdown[:LONGEST] + " …"
    tokens = _MARKDOWN.parse(shown)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = "p"
    html = _MARKDOWN.renderer.render(tokens, _MARKDOWN.options, {})
    cleaned = nh3.clean(
        html,
        tags=_TAGS,
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
