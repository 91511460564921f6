"""Which pictures a page shows and where in its text they stand, as the extension finds them.

The server takes pictures and places from its readers and only checks them; this says what they are to be.

Positions count the text before a picture, so both sides must agree on that text to the unit. Unlike `html_to_text`,
this is the reader's page as it is: what the extension does not remove is counted, scripts and styles included.
"""

from __future__ import annotations

from typing import NamedTuple

from selectolax.lexbor import LexborNode

from contracts.v1.parts import ImageOccurrence
from platforms.markdown_writer import picture_url
from platforms.markup import Fragment
from platforms.text import normalize, utf16_length


class PageImages(NamedTuple):
    """The normalised text of a page with its pictures. `urls`: each once, in order of first appearance."""

    text: str
    urls: tuple[str, ...]
    occurrences: tuple[ImageOccurrence, ...]


def extract_images(html: str, base_url: str) -> PageImages:
    """Find the pictures of an HTML fragment. Raises: UnparseableHtml. Source: docs/protocol.md 3.4."""
    return images_of(Fragment.parse(html), base_url)


def images_of(fragment: Fragment, base_url: str) -> PageImages:
    """Find the pictures of a parsed fragment; captions and addresses as the page gives them."""
    figures = _Figures()
    captions = {node.mem_id: _caption(node, figures) for node in fragment.select("img[src]")}
    fragment.separate_blocks()
    before: list[str] = []
    occurrences: list[ImageOccurrence] = []
    for node in fragment.walk():
        if node.tag == "-text":
            before.append(node.text_content or "")
        elif node.tag == "img":
            url = picture_url(node, base_url)
            if url is None:
                continue
            # What has been counted is normalised each time anew: a later mark can still join the last character.
            occurrences.append(
                ImageOccurrence(
                    original_index=len(occurrences),
                    normalized_text_offset=utf16_length(normalize("".join(before))),
                    source_url=url,
                    caption_text=captions.get(node.mem_id),
                )
            )
    urls = tuple(dict.fromkeys(occurrence.source_url for occurrence in occurrences))
    return PageImages(normalize("".join(before)), urls, tuple(occurrences))


class _Figures:
    """The captions of figures, each looked for and read once however many pictures a figure holds."""

    def __init__(self) -> None:
        self._captions: dict[int, str] = {}

    def caption(self, image: LexborNode) -> str:
        """What the figure around a picture says of it; empty without one."""
        passed: list[int] = []
        above = image.parent
        caption = ""
        while above is not None:
            if above.mem_id in self._captions:
                caption = self._captions[above.mem_id]
                break
            passed.append(above.mem_id)
            if above.tag == "figure":
                found = above.css_first("figcaption")
                caption = "" if found is None else normalize(found.text())
                break
            above = above.parent
        self._captions |= dict.fromkeys(passed, caption)
        return caption


def _caption(image: LexborNode, figures: _Figures) -> str | None:
    texts = (
        figures.caption(image),
        image.attributes.get("alt") or "",
        image.attributes.get("title") or "",
    )
    return next((text for text in (texts[0], *map(normalize, texts[1:])) if text), None)
