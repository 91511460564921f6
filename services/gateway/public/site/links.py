"""URLs of our own pages, and links to a sentence on a site's page.

A URL from outside is a link only if it is http or https; otherwise it is shown as text.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import quote as percent

_WEB: Final = re.compile(r"https?://[^\s\x00-\x1f\x7f\"<>\\^`{|}]+", re.IGNORECASE)
LONGEST: Final = 120
"""A quote of up to this many characters is quoted whole; of a longer one, its beginning and end."""
_WORDS: Final = 5


def safe_link(address: str | None) -> str | None:
    """The URL if it is http or https, else None."""
    return address if address and _WEB.fullmatch(address) else None


def link_to_sentence(address: str, quote: str) -> str:
    """The page's URL with a text fragment, so that a browser scrolls to the quote and marks it.

    The stored text has plain dashes and dots where a page may have typographic ones, so words without them are
    preferred. Source: WICG, URL fragment text directives.
    """
    page = address.partition("#")[0]
    return f"{page}#{text_directive(quote)}"


def text_directive(quote: str) -> str:
    """The text directive that finds a quote on its page."""
    words = quote.split()
    if len(quote) <= LONGEST and not any(sign in quote for sign in "-…\"'") and "..." not in quote:
        return f":~:text={_encode(quote)}"
    start, end = _plain_run(words), _plain_run(words[::-1])[::-1]
    if not start or not end or len(start) + len(end) > len(words):
        return f":~:text={_encode(quote if len(quote) <= LONGEST else ' '.join(words[: 2 * _WORDS]))}"
    return f":~:text={_encode(' '.join(start))},{_encode(' '.join(end))}"


def _plain_run(words: list[str]) -> list[str]:
    run: list[str] = []
    for word in words[:_WORDS]:
        if any(sign in word for sign in "-…\"'") or "..." in word:
            break
        run.append(word)
    return run


def _encode(text: str) -> str:
    return percent(text, safe="").replace("-", "%2D")


def post_path(platform: str, external_id: str) -> str:
    """The path of a post's page."""
    return f"/posts/{platform.lower()}/{percent(external_id, safe=':')}"


def shorten(address: str, limit: int = 72) -> str:
    """Shorten a URL for display: without scheme, and not too long."""
    bare = re.sub(r"^https?://(?:www\.)?", "", address, flags=re.IGNORECASE).rstrip("/")
    return bare if len(bare) <= limit else bare[: limit - 1] + "…"
