"""An article as the model reads it: its words as every quotation needs them, its structure as Markdown.

Words are written in their canonical form, without escapes and without emphasis, so a passage copied from here is found
in the text. Losing words here would hide errors; adding some would have the author accused of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import count
from typing import Final, NamedTuple

from contracts.v1.parts import ImageOccurrence
from platforms.base import Platform
from platforms.markdown_writer import PLACE, written
from platforms.markup import UnparseableHtml
from platforms.video import shows_video

RENDERER_VERSION: Final = "markdown-1"
"""Changes with everything that changes the result; stored beside each one."""

MAX_TAGS: Final = 100_000
"""Several times what an article holds that is short enough to be investigated; each costs some ten microseconds."""

MARKER: Final = "IMAGE"
_MARKER_TAKEN: Final = re.compile(rf"\[{MARKER}(?:-([0-9]{{1,9}}))?:", re.IGNORECASE)


class Rendered(NamedTuple):
    """An article in Markdown. In `text` picture n of the version is `[<image_marker>:n]`, and nothing else looks so."""

    text: str
    image_marker: str
    renderer_version: str
    has_video: bool


def render(
    html: str, *, base_url: str, occurrences: Iterable[ImageOccurrence], site: Platform, external_id: str = ""
) -> Rendered:
    """Write an article's HTML as Markdown.

    Shapes: `base_url` is the page's address; a picture that is no occurrence leaves no trace.
    Raises: UnparseableHtml. Source: requirements 2.4.4.
    """
    if html.count("<") > MAX_TAGS:
        raise UnparseableHtml(f"more than {MAX_TAGS} tags are not written as Markdown")
    article = site.article(html, external_id)
    has_video = shows_video(article)
    text = written(article, base_url, occurrences)
    marker = _free_marker(text)
    return Rendered(PLACE.sub(rf"[{marker}:\1]", text), marker, RENDERER_VERSION, has_video)


def _free_marker(text: str) -> str:
    """The first of IMAGE, IMAGE-2, IMAGE-3, … that the article does not use itself."""
    taken = {match[1] or "1" for match in _MARKER_TAKEN.finditer(text)}
    free = next(number for number in count(1) if str(number) not in taken)
    return MARKER if free == 1 else f"{MARKER}-{free}"
