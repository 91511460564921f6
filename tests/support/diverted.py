"""The network and its names as a test wants them: every address leads to one loopback server."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import httpcore

from kit.web import Resolver


class Diverted(httpcore.AsyncNetworkBackend):
    """Records which address is connected to, and connects to a loopback server instead."""

    def __init__(self, port: int, refusing: Iterable[str] = ()) -> None:
        self.connected: list[tuple[str, int]] = []
        self._port = port
        self._refusing = frozenset(refusing)
        self._network = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        self.connected.append((host, port))
        if host in self._refusing:
            raise httpcore.ConnectError("refused")
        return await self._network.connect_tcp("127.0.0.1", self._port, timeout, local_address, socket_options)


def resolver(*answers: Sequence[str]) -> tuple[Resolver, list[str]]:
    """A resolver that gives each answer once and the last one repeatedly, and the list of names it was asked for."""
    asked: list[str] = []

    async def resolve(host: str) -> Sequence[str]:
        asked.append(host)
        return answers[min(len(asked), len(answers)) - 1]

    return resolve, asked
