"""The http over real sockets: what it reaches, what it refuses, when it gives up."""

from __future__ import annotations

import gzip
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from kit.web import GuardedHttpClient, Policy, Request, WebError
from tests.support.certificates import certificate_for
from tests.support.diverted import Diverted, resolver
from tests.support.sites import Answer, Fault, Seen, Sites

CONTACT = "https://contact.example/"
PUBLIC = "8.8.8.8"


@pytest.fixture
async def sites() -> AsyncIterator[Sites]:
    async with Sites() as running:
        running.pages["/hello"] = Answer(200, {"content-type": "text/plain", "X-Twice": "a"}, b"hello")
        yield running


@asynccontextmanager
async def exempt_door(
    sites: Sites, *, timeout_s: float = 5.0, max_bytes: int = 100_000
) -> AsyncIterator[GuardedHttpClient]:
    policy = Policy(CONTACT, timeout_s=timeout_s, max_bytes=max_bytes, exempt_origins=frozenset({sites.url}))
    async with GuardedHttpClient(policy) as http:
        yield http


async def kind_of(http: GuardedHttpClient, url: str, **request: Any) -> str:
    with pytest.raises(WebError) as caught:
        await http.fetch(Request(url, **request))
    return caught.value.kind


async def test_fetches_and_says_who_asks(sites: Sites) -> None:
    async with exempt_door(sites) as http:
        fetched = await http.fetch(Request(f"{sites.url}/hello?q=1", headers={"Accept": "text/plain", "Host": "x"}))
    assert (fetched.status, fetched.body, fetched.final_url) == (200, b"hello", f"{sites.url}/hello?q=1")
    assert fetched.headers["x-twice"] == "a"
    (request,) = sites.requests
    assert CONTACT in request.headers["user-agent"]
    assert request.headers["host"] == f"127.0.0.1:{sites.port}"
    assert request.headers["accept"] == "text/plain"


async def test_any_status_is_an_answer(sites: Sites) -> None:
    sites.fail("not_found")
    async with exempt_door(sites) as http:
        assert (await http.fetch(Request(f"{sites.url}/x"))).status == 404


async def test_a_body_is_sent_and_gzip_is_unpacked(sites: Sites) -> None:
    sites.pages["/echo"] = lambda seen: Answer(200, {"content-encoding": "gzip"}, gzip.compress(seen.body[::-1]))
    async with exempt_door(sites) as http:
        assert (await http.fetch(Request(f"{sites.url}/echo", "POST", body=b"abc"))).body == b"cba"


async def test_no_proxy_is_taken_from_the_environment(sites: Sites) -> None:
    before = os.environ.get("http_proxy")
    os.environ["http_proxy"] = "http://127.0.0.1:9"
    try:
        async with exempt_door(sites) as http:
            assert (await http.fetch(Request(f"{sites.url}/hello"))).status == 200
    finally:
        os.environ.pop("http_proxy") if before is None else os.environ.update(http_proxy=before)


@pytest.mark.requirement("2.13-05")
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "0x7f.1", "[::1]", "[::ffff:127.0.0.1]", "127.1", "0"])
async def test_loopback_is_not_reached(sites: Sites, host: str) -> None:
    """2.13-05: SSRF-safe image fetch."""
    async with GuardedHttpClient(Policy(CONTACT)) as http:
        assert await kind_of(http, f"http://{host}:{sites.port}/hello") == "blocked_address"
    assert sites.connections == 0


@pytest.mark.requirement("2.13-05")
async def test_a_name_is_connected_to_where_it_was_checked(sites: Sites) -> None:
    """The second answer is what a rebinding attacker would have us connect to.

    2.13-05: SSRF-safe image fetch.
    """
    resolve, asked = resolver([PUBLIC], ["127.0.0.1"])
    network = Diverted(sites.port)
    async with GuardedHttpClient(Policy(CONTACT), resolve=resolve, network=network) as http:
        fetched = await http.fetch(Request("http://site.example/hello"))
        assert fetched.body == b"hello"
        assert network.connected == [(PUBLIC, 80)]
        assert asked == ["site.example"]
        assert sites.requests[0].headers["host"] == "site.example"
        assert await kind_of(http, "http://site.example/hello") == "blocked_address"
    assert network.connected == [(PUBLIC, 80)]


async def test_a_name_with_one_private_address_is_not_connected_to(sites: Sites) -> None:
    resolve, _ = resolver([PUBLIC, "10.0.0.1"])
    network = Diverted(sites.port)
    async with GuardedHttpClient(Policy(CONTACT), resolve=resolve, network=network) as http:
        assert await kind_of(http, "http://site.example/hello") == "blocked_address"
    assert network.connected == []


async def test_the_next_address_is_tried(sites: Sites) -> None:
    resolve, _ = resolver(["2606:4700::1", PUBLIC])
    network = Diverted(sites.port, refusing={"2606:4700::1"})
    async with GuardedHttpClient(Policy(CONTACT), resolve=resolve, network=network) as http:
        assert (await http.fetch(Request("http://site.example/hello"))).status == 200
    assert network.connected == [("2606:4700::1", 80), (PUBLIC, 80)]


@pytest.mark.requirement("2.13-05")
@pytest.mark.parametrize(
    "target", ["http://127.0.0.1:{port}/hello", "http://localhost:{port}/hello", "//127.1:{port}/"]
)
async def test_a_redirect_to_a_private_address_is_not_followed(sites: Sites, target: str) -> None:
    """2.13-05: SSRF-safe image fetch."""
    sites.pages["/away"] = Answer(302, {"location": target.format(port=sites.port)})
    resolve, _ = resolver([PUBLIC])
    async with GuardedHttpClient(Policy(CONTACT), resolve=resolve, network=Diverted(sites.port)) as http:
        assert await kind_of(http, "http://site.example/away") == "blocked_address"
    assert [seen.path for seen in sites.requests] == ["/away"]


@pytest.mark.requirement("2.13-05")
@pytest.mark.parametrize("port", [22, 25, 6379, 9200, 65_535])
async def test_only_ports_of_web_pages_are_reached(sites: Sites, port: int) -> None:
    """2.13-05: SSRF-safe image fetch."""
    sites.pages["/away"] = Answer(302, {"location": f"http://site.example:{port}/hello"})
    resolve, _ = resolver([PUBLIC])
    network = Diverted(sites.port)
    async with GuardedHttpClient(Policy(CONTACT), resolve=resolve, network=network) as http:
        assert await kind_of(http, f"http://site.example:{port}/hello") == "blocked_port"
        assert await kind_of(http, "http://site.example/away") == "blocked_port"
        assert (await http.fetch(Request("http://site.example:8080/hello"))).body == b"hello"
    assert network.connected == [(PUBLIC, 80), (PUBLIC, 8080)]


async def test_an_exemption_is_for_one_origin_only(sites: Sites) -> None:
    async with Sites() as other, exempt_door(sites) as http:
        assert await kind_of(http, f"{other.url}/hello") == "blocked_address"
        assert await kind_of(http, sites.url.replace("http:", "https:")) == "blocked_address"
        assert await kind_of(http, f"http://127.0.0.2:{sites.port}/") == "blocked_address"
        sites.pages["/away"] = Answer(302, {"location": f"{other.url}/hello"})
        assert await kind_of(http, f"{sites.url}/away") == "blocked_address"
        assert other.connections == 0
        sites.pages["/here"] = Answer(302, {"location": "/hello"})
        assert (await http.fetch(Request(f"{sites.url}/here"))).body == b"hello"


async def test_an_exempt_origin_is_not_reached_by_a_redirect_from_elsewhere(sites: Sites) -> None:
    sites.pages["/away"] = Answer(302, {"location": f"{sites.url}/hello"})
    resolve, _ = resolver([PUBLIC])
    policy = Policy(CONTACT, exempt_origins=frozenset({sites.url}))
    async with GuardedHttpClient(policy, resolve=resolve, network=Diverted(sites.port)) as http:
        assert await kind_of(http, "http://site.example/away") == "blocked_address"


async def test_a_redirect_elsewhere_takes_no_secrets_along(sites: Sites) -> None:
    sites.pages["/away"] = Answer(302, {"location": "http://other.example/hello"})
    resolve, _ = resolver([PUBLIC])
    async with GuardedHttpClient(Policy(CONTACT), resolve=resolve, network=Diverted(sites.port)) as http:
        headers = {"Authorization": "secret", "Cookie": "secret", "Accept": "text/html"}
        fetched = await http.fetch(Request("http://site.example/away", "POST", headers, b"body"))
    assert fetched.final_url == "http://other.example/hello"
    first, second = sites.requests
    assert first.headers["authorization"] == "secret"
    assert (second.method, second.body) == ("GET", b"")
    assert not {"authorization", "cookie"} & set(second.headers)
    assert second.headers["accept"] == "text/html"


@pytest.mark.parametrize(("status", "method"), [(301, "GET"), (302, "GET"), (303, "GET"), (307, "POST"), (308, "POST")])
async def test_how_a_post_is_redirected(sites: Sites, status: int, method: str) -> None:
    sites.pages["/away"] = Answer(status, {"location": "/hello"})
    async with exempt_door(sites) as http:
        await http.fetch(Request(f"{sites.url}/away", "POST", body=b"body"))
    assert sites.requests[1].method == method


async def test_a_cookie_comes_back_to_the_origin_that_set_it_and_is_forgotten_with_the_fetch(sites: Sites) -> None:
    first = "a=1; Path=/; Secure\r\nset-cookie: b=caf\xe9=2;HttpOnly\r\nset-cookie: a=3"

    def gate(seen: Seen) -> Answer:
        if "cookie" in seen.headers:
            return Answer(302, {"location": "http://other.example/hello"})
        return Answer(302, {"location": "/gate", "set-cookie": f"{first}\r\nset-cookie: c={'x' * 9_000}"})

    sites.pages["/gate"] = gate
    resolve, _ = resolver([PUBLIC])
    async with GuardedHttpClient(Policy(CONTACT), resolve=resolve, network=Diverted(sites.port)) as http:
        for _ in range(2):
            assert (await http.fetch(Request("http://site.example/gate"))).body == b"hello"
    assert [seen.headers.get("cookie") for seen in sites.requests] == [None, "a=3; b=caf\xe9=2", None] * 2


async def test_five_redirects_and_no_more(sites: Sites) -> None:
    def step(seen: Seen) -> Answer:
        left = int(seen.query["left"])
        return Answer(302, {"location": f"/step?left={left - 1}"}) if left else Answer(200, {}, b"there")

    sites.pages["/step"] = step
    async with exempt_door(sites) as http:
        assert (await http.fetch(Request(f"{sites.url}/step?left=5"))).body == b"there"
        assert await kind_of(http, f"{sites.url}/step?left=6") == "too_many_redirects"


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
async def test_a_redirect_may_name_its_target_without_encoding_it(sites: Sites, encoding: str) -> None:
    location = "/caf\u00e9".encode(encoding).decode("latin-1")
    sites.pages["/away"] = Answer(302, {"location": location})
    async with exempt_door(sites) as http:
        assert (await http.fetch(Request(f"{sites.url}/away"))).final_url == f"{sites.url}/caf%C3%A9"


@pytest.mark.parametrize(
    ("location", "kind"),
    [
        ("file:///etc/passwd", "bad_scheme"),
        ("http://user:pass@site.example/", "credentials_in_url"),
        ("http://[/", "malformed_url"),
    ],
)
async def test_a_redirect_is_checked_like_the_first_url(sites: Sites, location: str, kind: str) -> None:
    sites.pages["/away"] = Answer(302, {"location": location})
    async with exempt_door(sites) as http:
        assert await kind_of(http, f"{sites.url}/away") == kind


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("slow", "timeout"),
        ("stalled_body", "timeout"),
        ("huge", "too_large"),
        ("gzip_bomb", "too_large"),
        ("truncated", "bad_response"),
        ("truncated_gzip", "bad_encoding"),
        ("redirect_loop", "too_many_redirects"),
    ],
)
async def test_faults(sites: Sites, fault: Fault, kind: str) -> None:
    sites.fail(fault)
    async with exempt_door(sites, timeout_s=0.3 if kind == "timeout" else 5.0) as http:
        assert await kind_of(http, f"{sites.url}/hello") == kind
        sites.heal()
        assert (await http.fetch(Request(f"{sites.url}/hello"))).status == 200, "the guarded client works on"


async def test_a_reset_or_refused_connection_fails(sites: Sites) -> None:
    sites.fail("reset")
    async with exempt_door(sites) as http:
        assert await kind_of(http, f"{sites.url}/hello") in ("connection_failed", "bad_response")
    async with Sites() as gone:
        url = gone.url
    async with GuardedHttpClient(Policy(CONTACT, exempt_origins=frozenset({url}))) as http:
        assert await kind_of(http, f"{url}/hello") == "connection_failed"


async def test_a_declared_length_is_believed_when_it_is_too_much(sites: Sites) -> None:
    sites.fail("stalled_body")
    async with exempt_door(sites, max_bytes=999) as http:
        assert await kind_of(http, f"{sites.url}/hello") == "too_large"


async def test_a_request_may_set_narrower_limits(sites: Sites) -> None:
    async with exempt_door(sites) as http:
        assert await kind_of(http, f"{sites.url}/hello", max_bytes=4) == "too_large"
        sites.fail("slow")
        assert await kind_of(http, f"{sites.url}/hello", timeout_s=0.1) == "timeout"


async def test_tls_asks_for_the_name_and_checks_it(tmp_path: Path) -> None:
    server, client = certificate_for(["site.example"], tmp_path)
    resolve, _ = resolver([PUBLIC])
    async with Sites(tls=server) as sites:
        sites.pages["/hello"] = Answer(200, {}, b"hello")
        async with GuardedHttpClient(
            Policy(CONTACT), resolve=resolve, network=Diverted(sites.port), tls=client
        ) as http:
            assert (await http.fetch(Request("https://site.example/hello"))).body == b"hello"
            assert await kind_of(http, "https://other.example/hello") == "connection_failed"
