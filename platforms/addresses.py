"""Addresses read as browsers read them, by the WHATWG URL standard.

Python's own parser disagrees with browsers on back slashes, dots, ports and case. What one side takes for a Wikipedia
page the other could then take for something else.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import unquote

from ada_url import URL, URLSearchParams

from platforms.base import IdentityMismatch

_BROKEN_ESCAPE = re.compile("%(?![0-9A-Fa-f]{2})")
_SURROGATE = re.compile("[\ud800-\udfff]")


class Address(NamedTuple):
    """The parts of an address that name a page. `path` is still percent-encoded."""

    scheme: str
    host: str
    path: str
    search: str
    has_credentials: bool

    def parameter(self, name: str) -> str | None:
        """The first query parameter of that name, decoded."""
        value = URLSearchParams(self.search).get(name)
        return value if isinstance(value, str) else None


def parse_address(url: str) -> Address | None:
    """Read an address; None if it is not an absolute one."""
    try:
        parsed = URL(_SURROGATE.sub("\ufffd", url))
    except ValueError:
        return None
    return Address(
        scheme=parsed.protocol.removesuffix(":"),
        host=parsed.hostname,
        path=parsed.pathname,
        search=parsed.search,
        has_credentials=bool(parsed.username or parsed.password),
    )


def web_page(url: str) -> Address:
    """Read the address of a public page. Raises: IdentityMismatch for any other scheme or embedded credentials."""
    address = parse_address(url)
    if address is None:
        raise IdentityMismatch("the address cannot be read")
    if address.scheme not in ("http", "https"):
        raise IdentityMismatch(f"{address.scheme} is not the scheme of a web page")
    if address.has_credentials:
        raise IdentityMismatch("the address carries credentials")
    return address


def resolve(reference: str, base: str) -> str | None:
    """Make a reference absolute; None where a browser could not."""
    try:
        return URL(_SURROGATE.sub("\ufffd", reference), base=base).href
    except ValueError:
        return None


def decode_component(encoded: str) -> str | None:
    """Decode percent-escapes as JavaScript's `decodeURIComponent` does; None where that throws."""
    if _BROKEN_ESCAPE.search(encoded):
        return None
    try:
        return unquote(encoded, errors="strict")
    except UnicodeDecodeError:
        return None
