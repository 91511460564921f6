"""URLs parsed as browsers do, by the WHATWG URL standard.

Python's own parser disagrees with browsers on back slashes, dots, ports and case.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple
from urllib.parse import unquote, unquote_plus

from ada_url import URL

from platforms.base import IdentityMismatch, require_equal

_BROKEN_ESCAPE = re.compile("%(?![0-9A-Fa-f]{2})")
_SURROGATE = re.compile("[\ud800-\udfff]")


class Url(NamedTuple):
    """The parts of a URL that name a page. `path` is still percent-encoded; `port` is empty for the default one."""

    scheme: str
    host: str
    port: str
    path: str
    search: str
    has_credentials: bool
    fragment: str = ""

    @property
    def address(self) -> str:
        """The normalised URL without its fragment."""
        return f"{self.scheme}://{self.host}{self.path}{self.search}"

    def parameter(self, name: str) -> str | None:
        """The first query parameter of that name, decoded; bytes that are not UTF-8 become U+FFFD."""
        found = _parameter(name).search(self.search)
        return None if found is None else unquote_plus(found[1] or "")


def parse_url(url: str) -> Url | None:
    """Parse a URL; None if it is not an absolute URL."""
    parsed = _parse(url)
    if parsed is None:
        return None
    return Url(
        scheme=parsed.protocol.removesuffix(":"),
        host=parsed.hostname,
        port=parsed.port,
        path=parsed.pathname,
        search=parsed.search,
        has_credentials=bool(parsed.username or parsed.password),
        fragment=parsed.hash,
    )


def web_page(url: str) -> Url:
    """Parse the URL of a public page. Raises: IdentityMismatch: another scheme or port, or embedded credentials."""
    page = parse_url(url)
    if page is None:
        raise IdentityMismatch("the URL cannot be read")
    if page.scheme not in ("http", "https"):
        raise IdentityMismatch(f"{page.scheme} is not the scheme of a web page")
    if page.has_credentials:
        raise IdentityMismatch("the URL carries credentials")
    if page.port:
        raise IdentityMismatch("the URL has a port other than its scheme's default")
    return page


def address(url: str) -> str:
    """A normalised URL without its fragment; anything else unchanged."""
    page = parse_url(url)
    return url if page is None else page.address


def find_host(url: str | None) -> str:
    """The host of a URL without `www.`; empty if there is none."""
    page = parse_url(url or "")
    return "" if page is None else page.host.lower().removeprefix("www.")


def resolve(reference: str, base: str) -> str | None:
    """Resolve a reference against a base URL; None where a browser could not."""
    url = _parse(reference, base)
    return None if url is None else url.href


def check_segment(what: str, stated: str | None, segment: str) -> None:
    """Refuse a path segment that is not the stated one, percent-encoded or not. Raises: IdentityMismatch."""
    if stated != segment:
        require_equal(what, stated, decode_component(segment))


def decode_component(encoded: str) -> str | None:
    """Decode percent-escapes as JavaScript's `decodeURIComponent` does; None where that throws."""
    if _BROKEN_ESCAPE.search(encoded):
        return None
    try:
        return unquote(encoded, errors="strict")
    except UnicodeDecodeError:
        return None


@cache
def _parameter(name: str) -> re.Pattern[str]:
    """A pattern that finds one parameter: splitting would be slow for a query of hundreds of thousands."""
    letters = "".join(f"(?:{re.escape(letter)}|%(?i:{ord(letter):02x}))" for letter in name)
    return re.compile(rf"(?:^\?|&){letters}(?:=([^&]*))?(?=&|\Z)")


def _parse(text: str, base: str | None = None) -> URL | None:
    try:
        url = URL(_SURROGATE.sub("\ufffd", text), base=base)
    except ValueError:
        return None
    if url.pathname.startswith("/") and "|" in url.pathname:
        # Only Chromium encodes `|`, so both spellings of an address become one.
        url.pathname = url.pathname.replace("|", "%7C")
    return url
