"""An article in Markdown for the model.

Words are in their canonical form, without escapes and emphasis, so a quote copied from the Markdown is found in the
text. No word may be lost or added.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import count
from typing import Final, NamedTuple

from contracts.v1.parts import ImageOccurrence
from platforms.base import Platform
from platforms.markdown_writer import PLACEHOLDER, write_markdown
from platforms.markup_cost import UnparseableHtml
from platforms.video import shows_video

RENDERER_VERSION: Final = "markdown-1"
"""Stored with each result; changes whenever the output changes."""

MAX_TAGS: Final = 100_000
"""Several times the tags of an article within the word limit; each costs about ten microseconds."""

MARKER: Final = "IMAGE"
_USED_MARKER: Final = re.compile(rf"\[{MARKER}(?:-([0-9]{{1,9}}))?:", re.IGNORECASE)


class Rendered(NamedTuple):
    """An article in Markdown. In `text`, picture n of the version is `[<image_marker>:n]`, which occurs only once."""

    text: str
    image_marker: str
    renderer_version: str
    has_video: bool


def render(
    html: str, *, base_url: str, occurrences: Iterable[ImageOccurrence], site: Platform, external_id: str = ""
) -> Rendered:
    """Write an article's HTML as Markdown.

    Shapes: `base_url` is the page's URL; a picture that is not in `occurrences` is dropped.
    Raises: UnparseableHtml. Source: requirements 2.4.4.
    """
    if html.count("<") > MAX_TAGS:
        raise UnparseableHtml(f"more than {MAX_TAGS} tags are not written as Markdown")
    article = site.article(html, external_id)
    has_video = shows_video(article)
    text = write_markdown(article, base_url, occurrences)
    marker = _free_marker(text)
    return Rendered(PLACEHOLDER.sub(rf"[{marker}:\1]", text), marker, RENDERER_VERSION, has_video)


def _free_marker(text: str) -> str:
    """The first of IMAGE, IMAGE-2, IMAGE-3, … that the article does not contain."""
    used = {match[1] or "1" for match in _USED_MARKER.finditer(text)}
    free = next(number for number in count(1) if str(number) not in used)
    return MARKER if free == 1 else f"{MARKER}-{free}"
