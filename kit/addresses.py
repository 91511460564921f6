"""Network prefixes of client addresses, for crediting views.

The prefix is hashed and stored, so its format is part of the data: with another format the same network would be
credited twice.
"""

from __future__ import annotations

import re
from functools import lru_cache
from ipaddress import AddressValueError, IPv4Address, IPv6Address

from contracts.rpc.values import JS_WHITE_SPACE

_IPV4 = re.compile(r"([0-9]{1,3})\.([0-9]{1,3})\.([0-9]{1,3})\.([0-9]{1,3})")


@lru_cache(10_000)
def ip_range_prefix(address: str) -> str:
    """The prefix of an address: the first three octets of IPv4, the first three groups of IPv6.

    Shapes: `unknown` for an empty address, `invalid:<lower case>` for an invalid one. Source: docs/protocol.md 4.
    """
    address = address.strip(JS_WHITE_SPACE)
    if not address:
        return "unknown"
    return _ipv4_prefix(address) or _ipv6_prefix(address) or f"invalid:{address.lower()}"


def _ipv4_prefix(address: str) -> str | None:
    match = _IPV4.fullmatch(address)
    if match is None:
        return None
    octets = [int(octet) for octet in match.groups()]
    return ".".join(map(str, octets[:3])) if max(octets) <= 255 else None


def _ipv6_prefix(address: str) -> str | None:
    try:
        parsed = IPv6Address(address.partition("%")[0])
    except AddressValueError:
        return None
    mapped: IPv4Address | None = parsed.ipv4_mapped
    if mapped is not None:
        return _ipv4_prefix(str(mapped))
    return ":".join(f"{int(group, 16):x}" for group in parsed.exploded.split(":")[:3])
