"""Resolve a name to addresses, all of which must be public.

The connection is made to an address checked here, without resolving the name again, so DNS rebinding does not work.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address

from kit.web.addresses import is_local_name, is_public
from kit.web.errors import WebError

Resolver = Callable[[str], Awaitable[Sequence[str]]]
"""Returns every address of a name; raises OSError if it has none."""


async def system_resolver(host: str) -> Sequence[str]:
    """Ask the operating system."""
    found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(item[4][0]) for item in found))


async def public_addresses(host: str, resolve: Resolver) -> tuple[IPv4Address | IPv6Address, ...]:
    """The addresses of a host, in the resolver's order.

    Raises: WebError: unresolvable; blocked_address if the name is local or any one address is not public.
    """
    if is_local_name(host):
        raise WebError("blocked_address", f"{host} is a local name")
    try:
        found: tuple[IPv4Address | IPv6Address, ...] = (ip_address(host),)
    except ValueError:
        found = await _look_up(host, resolve)
    if not all(is_public(address) for address in found):
        raise WebError("blocked_address", f"{host} is not on the public internet")
    return found


async def _look_up(host: str, resolve: Resolver) -> tuple[IPv4Address | IPv6Address, ...]:
    try:
        found = tuple(dict.fromkeys(ip_address(text) for text in await resolve(host)))
    except (OSError, UnicodeError):  # the latter for labels that DNS cannot carry
        found = ()
    except ValueError:
        raise WebError("unresolvable", f"{host} resolves to something that is no address") from None
    if not found:
        raise WebError("unresolvable", f"{host} has no address")
    return found
