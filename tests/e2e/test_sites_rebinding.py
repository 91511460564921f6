"""A name server that changes its mind between the check and the connection brings an attacker nothing."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import chain, repeat
from typing import cast

import httpcore
import pytest

from kit.web import GuardedHttpClient, Policy, Request, WebError
from tests.support.sites import Answer, Sites

PUBLIC = "8.8.8.8"
PRIVATE = "127.0.0.1"
NAME = "rebinding.example"
_HEADER = struct.Struct("!6H")
_RECORD = struct.Struct("!HHHIH4s")
_POINTER_TO_QUESTION = 0xC00C
_ANSWERED = 0x8180


@dataclass
class NameServer(asyncio.DatagramProtocol):
    """Answers every question with the next addresses of its list, good for no time. Source: RFC 1035 section 4."""

    answers: Iterable[Sequence[str]]
    asked: int = 0

    def __post_init__(self) -> None:
        self._next = iter(self.answers)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        self.asked += 1
        addresses = next(self._next)
        header = _HEADER.pack(int.from_bytes(data[:2], "big"), _ANSWERED, 1, len(addresses), 0, 0)
        records = (_RECORD.pack(_POINTER_TO_QUESTION, 1, 1, 0, 4, socket.inet_aton(one)) for one in addresses)
        self._transport.sendto(header + data[_HEADER.size :] + b"".join(records), addr)


@dataclass
class Resolver(asyncio.DatagramProtocol):
    """Asks that server over the network, anew each time."""

    port: int
    waiting: list[asyncio.Future[bytes]] = field(default_factory=list)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        self.waiting.pop().set_result(data)

    async def __call__(self, host: str) -> Sequence[str]:
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_datagram_endpoint(lambda: self, remote_addr=(PRIVATE, self.port))
        try:
            self.waiting.append(loop.create_future())
            labels = b"".join(bytes([len(label)]) + label.encode() for label in host.split("."))
            question = labels + b"\0" + struct.pack("!HH", 1, 1)
            transport.sendto(_HEADER.pack(1, 0x0100, 1, 0, 0, 0) + question)
            answer = await asyncio.wait_for(self.waiting[-1], 5)
        finally:
            transport.close()
        count, start = _HEADER.unpack_from(answer)[3], _HEADER.size + len(question)
        found = (_RECORD.unpack_from(answer, start + number * _RECORD.size) for number in range(count))
        return [socket.inet_ntoa(record[-1]) for record in found]


class Internet(httpcore.AsyncNetworkBackend):
    """The network as it is, but that the public address leads to a stand-in here."""

    def __init__(self, public: Sites) -> None:
        self._public = public
        self._network = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        host, port = (PRIVATE, self._public.port) if host == PUBLIC else (host, port)
        return await self._network.connect_tcp(host, port, timeout, local_address, socket_options)


@dataclass(frozen=True)
class Trap:
    """A public site of the attacker's, a private one that must never be reached, and a name for both."""

    public: Sites
    private: Sites
    names: NameServer
    resolve: Resolver

    @property
    def url(self) -> str:
        """The private listener's port under the attacker's name."""
        return f"http://{NAME}:{self.private.port}/secret"

    def http(self) -> GuardedHttpClient:
        """A way out that believes the attacker's name server."""
        policy = Policy(timeout_s=5, ports=frozenset({self.private.port}))
        return GuardedHttpClient(policy, resolve=self.resolve, network=Internet(self.public))


@asynccontextmanager
async def trap(answers: Iterable[Sequence[str]]) -> AsyncIterator[Trap]:
    async with Sites() as public, Sites() as private:
        public.pages["/secret"] = Answer(200, {}, b"public")
        private.pages["/secret"] = Answer(200, {}, b"private")
        transport, names = await asyncio.get_running_loop().create_datagram_endpoint(
            lambda: NameServer(answers), local_addr=(PRIVATE, 0)
        )
        try:
            yield Trap(public, private, names, Resolver(transport.get_extra_info("sockname")[1]))
        finally:
            transport.close()


async def brought(http: GuardedHttpClient, url: str) -> bytes | str:
    """A body, or why there is none."""
    try:
        return (await http.fetch(Request(url))).body
    except WebError as error:
        return error.kind


@pytest.mark.requirement("2.13-05")
async def test_a_client_that_asks_twice_would_be_caught() -> None:
    """2.13-05: SSRF-safe image fetch."""
    async with trap([[PUBLIC], [PRIVATE]]) as set_up:
        assert await set_up.resolve(NAME) == [PUBLIC]
        (address,) = await set_up.resolve(NAME)
        async with httpcore.AsyncConnectionPool() as naive:
            answer = await naive.request("GET", f"http://{address}:{set_up.private.port}/secret")
        assert answer.content == b"private"


@pytest.mark.requirement("2.13-05")
async def test_the_door_connects_to_what_it_checked_and_to_nothing_private() -> None:
    """2.13-05: SSRF-safe image fetch."""
    async with trap(chain([[PUBLIC]], repeat([PRIVATE]))) as set_up, set_up.http() as http:
        assert await brought(http, set_up.url) == b"public"
        assert set_up.names.asked == 1
        assert await brought(http, set_up.url) == "blocked_address"
        assert set_up.private.connections == 0


@pytest.mark.requirement("2.13-05")
async def test_a_redirect_is_resolved_and_checked_anew() -> None:
    """2.13-05: SSRF-safe image fetch."""
    async with trap([[PUBLIC], [PRIVATE]]) as set_up, set_up.http() as http:
        set_up.public.pages["/away"] = Answer(302, {"location": "/secret"})
        assert await brought(http, set_up.url.replace("/secret", "/away")) == "blocked_address"
        assert (set_up.names.asked, set_up.private.connections) == (2, 0)


@pytest.mark.requirement("2.13-05")
@pytest.mark.parametrize("both", [[PUBLIC, PRIVATE], [PRIVATE, PUBLIC], [PUBLIC, "169.254.169.254"]])
async def test_one_private_address_among_many_is_enough(both: list[str]) -> None:
    """2.13-05: SSRF-safe image fetch."""
    async with trap(repeat(both)) as set_up, set_up.http() as http:
        assert await brought(http, set_up.url) == "blocked_address"
        assert (set_up.public.connections, set_up.private.connections) == (0, 0)


@pytest.mark.requirement("2.13-05")
async def test_many_tries_at_the_turn_of_the_answer() -> None:
    """2.13-05: SSRF-safe image fetch."""
    turns = chain.from_iterable(repeat(([PUBLIC], [PRIVATE])))
    async with trap(turns) as set_up, set_up.http() as http:
        results = [await brought(http, set_up.url) for _ in range(50)]
        assert set(results) == {b"public", "blocked_address"}
        assert set_up.private.connections == 0
