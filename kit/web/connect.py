"""Connections of the HTTP client: they go to the checked address, and TLS verifies the name."""

from __future__ import annotations

from collections.abc import Iterable

import httpcore

from kit.web.errors import WebError
from kit.web.resolve import Resolver, public_addresses

MOST_ADDRESSES = 4


class PublicOnly(httpcore.AsyncNetworkBackend):
    """Connects to public addresses only; a reused connection keeps its checked address.

    `ports` are those of web servers: a mail or database server on another port might read a request as a command.
    """

    def __init__(self, resolve: Resolver, network: httpcore.AsyncNetworkBackend, ports: frozenset[int]) -> None:
        self._resolve = resolve
        self._ports = ports
        self._network = network

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Resolve the name, check its addresses, and try each in turn within `timeout`."""
        addresses = (await public_addresses(host, self._resolve))[:MOST_ADDRESSES]
        if port not in self._ports:
            raise WebError("blocked_port", f"port {port} is not one of web pages")
        share_s = None if timeout is None else timeout / len(addresses)
        for address in addresses[:-1]:
            try:
                return await self._network.connect_tcp(str(address), port, share_s, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
        return await self._network.connect_tcp(str(addresses[-1]), port, share_s, local_address, socket_options)

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Refuse: a Unix socket is never public."""
        raise httpcore.ConnectError("socket files are not reached through the guarded client")

    async def sleep(self, seconds: float) -> None:
        """Part of the client's interface."""
        await self._network.sleep(seconds)
