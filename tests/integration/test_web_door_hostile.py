"""Addresses and resolvers that try to lead the outbound client inside: it connects to nothing for any of them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from kit.web import GuardedHttpClient, Policy, Request, WebError
from tests.integration.test_web_door import CONTACT, PUBLIC
from tests.support.diverted import Diverted, resolver
from tests.support.sites import Answer, Sites

IPV4 = (
    "127.0.0.1", "127.1", "127.0.1", "127.255.255.254", "0", "0.0.0.0", "0x0", "0x7f000001", "0x7f.0.0.1", "0x7f.1",
    "0177.0.0.1", "0177.1", "017700000001", "2130706433", "127.0.0.1.", "127。0。0。1", "１２７.0.0.1", "①②⑦.0.0.1",
    "10.0.0.1", "10.1", "0xa.0.0.1", "012.0.0.1", "167772161", "172.16.0.1", "172.31.255.255", "2886729729",
    "192.168.0.1", "192.168.1", "0xc0a80001", "3232235521", "169.254.169.254", "169.254.1", "2852039166",
    "0xa9fea9fe", "0251.0376.0251.0376", "100.64.0.1", "100.127.255.255", "192.0.0.1", "192.0.2.1", "198.18.0.1",
    "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255", "192.88.99.1",
)  # fmt: skip
IPV6 = (
    "[::]", "[::1]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::ffff:10.0.0.1]",
    "[::ffff:169.254.169.254]", "[::127.0.0.1]", "[::7f00:1]", "[64:ff9b::7f00:1]", "[64:ff9b::a9fe:a9fe]",
    "[64:ff9b:1::a00:1]", "[2002:7f00:1::]", "[2002:a00:1::]", "[2002:c0a8:1::1]", "[2001::1]", "[fc00::1]",
    "[fd00:ec2::254]", "[fe80::1]", "[febf::1]", "[fec0::1]", "[ff02::1]", "[2001:db8::1]", "[100::1]",
)  # fmt: skip
NAMES = (
    "localhost", "LOCALHOST", "localhost.", "a.localhost", "ｌocalhost", "localhost.localdomain", "printer.local",
    "db.internal", "metadata.google.internal", "router.home.arpa", "127.0.0.1.localhost",
)  # fmt: skip
LIES: tuple[Sequence[str], ...] = (
    ("127.0.0.1",),
    ("::1",),
    (PUBLIC, "10.0.0.1"),
    ("169.254.169.254", PUBLIC),
    (PUBLIC, "::ffff:127.0.0.1"),
    ("64:ff9b::7f00:1",),
    (),
    ("not an address",),
)


def test_the_lists_are_as_long_as_they_were() -> None:
    assert len({*IPV4, *IPV6, *NAMES}) >= 80
    assert len(LIES) == 8


@pytest.mark.requirement("2.13-05")
@pytest.mark.parametrize("host", [*IPV4, *IPV6, *NAMES])
async def test_an_address_inside_is_never_connected_to(host: str) -> None:
    """Also where a resolver would say that the name is public; nor is it after a redirect.

    2.13-05: SSRF-safe image fetch.
    """
    async with Sites() as sites:
        sites.pages["/away"] = Answer(302, {"location": f"http://{host}/hello"})
        for address in (f"http://{host}/hello", "http://site.example/away"):
            diverted = Diverted(sites.port)
            resolve, _ = resolver([PUBLIC])
            async with GuardedHttpClient(Policy(CONTACT), resolve=resolve, network=diverted) as http:
                with pytest.raises(WebError):
                    await http.fetch(Request(address))
            assert {connected for connected, _ in diverted.connected} <= {PUBLIC}
            assert len(diverted.connected) == (1 if address.endswith("/away") else 0)
        assert [seen.path for seen in sites.requests] == ["/away"]


@pytest.mark.requirement("2.13-05")
@pytest.mark.parametrize("answer", LIES, ids=str)
async def test_what_a_lying_resolver_says_is_never_connected_to(answer: Sequence[str]) -> None:
    """2.13-05: SSRF-safe image fetch."""
    async with Sites() as sites:
        diverted = Diverted(sites.port)
        resolve, asked = resolver(answer)
        async with GuardedHttpClient(Policy(CONTACT), resolve=resolve, network=diverted) as http:
            with pytest.raises(WebError):
                await http.fetch(Request("http://site.example/hello"))
        assert asked == ["site.example"]
        assert (diverted.connected, sites.connections) == ([], 0)
