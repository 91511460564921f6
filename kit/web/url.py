"""Parse a URL as a browser does, so that the host we check is the one we connect to.

Two parsers that disagree about the host (backslashes, `0x7f.1`, full-width digits) let an attacker bypass checks. So
only one is used, the WHATWG parser of Node, and the request is made from its result.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final
from unicodedata import bidirectional

import idna
from ada_url import URL

from kit.web.errors import WebError

DEFAULT_PORTS: Final = {"http": 80, "https": 443}

_RIGHT_TO_LEFT: Final = ("R", "AL", "AN")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Url:
    """An absolute http(s) URL.

    `host` is ASCII, lower case, an IPv6 address without brackets; `target` is path and query, percent-encoded.
    """

    scheme: str
    host: str
    port: int
    target: str

    @property
    def address(self) -> IPv4Address | IPv6Address | None:
        """The host's IP address, None if the host is a name."""
        try:
            return ip_address(self.host)
        except ValueError:
            return None

    @property
    def authority(self) -> str:
        """The host, and the port unless it is the scheme's default."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def origin(self) -> str:
        """Scheme, host and port in canonical form."""
        return f"{self.scheme}://{self.authority}"

    def __str__(self) -> str:
        return f"{self.origin}{self.target}"


def parse_url(text: str, *, base: Url | None = None) -> Url:
    """Read a URL, relative to `base` if one is given.

    Raises: WebError: bad_scheme, credentials_in_url, malformed_url.
    """
    try:
        url = URL(_SURROGATE.sub("\ufffd", text), base=None if base is None else str(base))
    except ValueError:
        raise WebError("malformed_url", "this is not an absolute URL") from None
    scheme = url.protocol.removesuffix(":")
    if scheme not in DEFAULT_PORTS:
        raise WebError("bad_scheme", f"only http and https are fetched, not {scheme[:32]}")
    if url.username or url.password:
        raise WebError("credentials_in_url", "the URL carries a user name or password")
    # Parsers differ on an asterisk: Chromium encodes it, Node does not.
    if "*" in url.hostname or not _is_sound(url.hostname):
        raise WebError("malformed_url", "the host is none that every program reads alike")
    return Url(
        scheme=scheme,
        host=url.hostname.removeprefix("[").removesuffix("]"),
        port=int(url.port) if url.port else DEFAULT_PORTS[scheme],
        target=url.pathname + url.search,
    )


def _is_sound(host: str) -> bool:
    """Whether a name is one by the standard, which the parser does not check of punycode and of mixed directions."""
    try:
        labels = [_decode(label) for label in host.split(".") if label]
        mixed = any(bidirectional(character) in _RIGHT_TO_LEFT for label in labels for character in label)
        return not mixed or all(idna.check_bidi(label, check_ltr=True) for label in labels)
    except UnicodeError:
        return False


def _decode(label: str) -> str:
    """A label as people read it. Raises: UnicodeError: no name has this punycode."""
    if not label.startswith("xn--"):
        return label
    plain = label[4:].encode().decode("punycode")
    if plain.isascii() or idna.uts46_remap(plain, std3_rules=False, transitional=False) != plain:
        raise UnicodeError
    return plain
