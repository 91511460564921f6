"""Reasoning as the model wrote it, in Markdown, made into HTML that can hold nothing but words and links.

Two doors: the renderer makes no raw HTML and no pictures, and whatever it makes is cleaned again.
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
def prose(markdown: str) -> Markup:
    """The safe HTML of a piece of Markdown; headings become paragraphs, since the page has its own."""
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


def plain(markdown: str) -> str:
    """The words of a piece of Markdown without its signs, as one paragraph."""
    words = []
    for token in _MARKDOWN.parse(markdown[:LONGEST]):
        said = token.children or ([token] if token.type in ("fence", "code_block") else [])
        words.append("".join(" " if "break" in part.type else part.content for part in said))
    return " ".join(" ".join(words).split())
