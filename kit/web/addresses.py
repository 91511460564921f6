"""Decide which addresses are on the public internet. IPv6 uses an allow list, so new special ranges stay blocked.

IPv6 forms that contain an IPv4 address (mapped, compatible, NAT64, 6to4, Teredo) are all blocked, since routers decide
where they lead.
Source: IANA IPv4 and IPv6 Special-Purpose Address Registries; 168.63.129.16 is Azure's host agent.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Final

_BLOCKED_4: Final = tuple(
    IPv4Network(network)
    for network in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # carrier-grade NAT
        "127.0.0.0/8",  # loopback
        "168.63.129.16/32",
        "169.254.0.0/16",  # link-local, cloud metadata
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # IETF protocol assignments
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",  # private
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, broadcast
    )
)
_GLOBAL_UNICAST_6: Final = IPv6Network("2000::/3")
_BLOCKED_6: Final = tuple(
    IPv6Network(network)
    for network in (
        "2001::/23",  # IETF protocol assignments: Teredo, benchmarks, ORCHID
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4
        "3fff::/20",  # documentation
    )
)
_LOCAL_NAMES: Final = ("localhost", "local", "internal", "home.arpa", "localdomain")


def is_public(address: IPv4Address | IPv6Address) -> bool:
    """Whether an address is an ordinary unicast address of the public internet."""
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _BLOCKED_4)
    return address in _GLOBAL_UNICAST_6 and not any(address in network for network in _BLOCKED_6)


def is_local_name(host: str) -> bool:
    """Whether a name denotes this machine or the local network, whatever it resolves to."""
    name = host.lower().rstrip(".")
    return name == "" or any(name == local or name.endswith(f".{local}") for local in _LOCAL_NAMES)
