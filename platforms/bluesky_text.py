"""A record's text as pages of Bluesky show it: links shortened, everything else as it was signed."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Final, NamedTuple

from platforms.atproto.cbor import Value
from platforms.text import js_trim
from platforms.urls import parse_url

_LINK: Final = "app.bsky.richtext.facet#link"
_MENTION: Final = "app.bsky.richtext.facet#mention"
_LONGEST_PATH: Final = 15
_SHORT_PATH: Final = 13


class _Span(NamedTuple):
    """A part of a text, in bytes of its UTF-8."""

    start: int
    end: int
    is_link: bool


def make_html(text: str) -> str:
    """Write each line as a paragraph. Quoted posts, cards and alternative texts are left out."""
    lines = map(js_trim, text.replace("\0", "").split("\n"))
    return "".join(f"<p>{escape(line, quote=False)}</p>" for line in lines if line)


def shown_text(text: str, facets: Value) -> str:
    """The text with the links that its facets mark shortened, as readers see them.

    Of overlapping facets the first counts, as on the site.
    """
    data = text.encode()
    shown, done = "", 0
    for span in sorted(_spans(facets), key=lambda each: each.start):
        if span.start < done:
            continue
        part = data[span.start : span.end].decode(errors="replace")
        shown += data[done : span.start].decode(errors="replace") + (_shorten(part) if span.is_link else part)
        done = span.end
    return shown + data[done:].decode(errors="replace")


def _spans(facets: Value) -> Iterator[_Span]:
    """The well-formed facets; others are ignored."""
    for facet in facets if isinstance(facets, list) else ():
        match facet:
            case {"index": {"byteStart": int(start), "byteEnd": int(end)}, "features": list(features)} if (
                0 <= start <= end
            ):
                kinds = {feature.get("$type") for feature in features if isinstance(feature, dict)}
                yield _Span(start, end, is_link=_LINK in kinds and _MENTION not in kinds)


def _shorten(text: str) -> str:
    """A web address without its scheme and most of its path; anything else unchanged."""
    page = parse_url(text)
    if page is None or page.scheme not in ("http", "https"):
        return text
    path = ("" if page.path == "/" else page.path) + page.search + page.fragment
    port = f":{page.port}" if page.port else ""
    return page.host + port + (path if len(path) <= _LONGEST_PATH else path[:_SHORT_PATH] + "...")
