"""Fetch a URL, redirects included, within one deadline.

Each redirect is an untrusted URL and is checked like the first, so the library does not follow redirects. The HTTP
layer is httpcore, the one under httpx: it lets us choose the address, and it reads no proxy from the environment.
"""

from __future__ import annotations

import asyncio
import ssl
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Final, Self

import httpcore

from kit.web.body import ACCEPT_ENCODING, read_body
from kit.web.connect import PublicOnly
from kit.web.errors import WebError
from kit.web.resolve import Resolver, system_resolver
from kit.web.url import Url, parse_url

CONTACT_URL: Final = "https://openerrata.com/"
"""The project's page, for operators who set no contact address."""

WEB_PORTS: Final = frozenset({80, 443, 8080, 8443})
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_KEEP_METHOD: Final = frozenset({307, 308})
_STAY_WITH_ORIGIN: Final = frozenset({"authorization", "cookie"})
_OF_THE_BODY: Final = frozenset({"content-type", "content-length"})
_IDLE_CONNECTIONS: Final = 20
_IDLE_S: Final = 15.0
_COOKIE_BYTES: Final = 8_192
"""Limit for all cookies of an origin: servers refuse longer headers."""


class Cookies:
    """Cookies by origin, for one fetch; their attributes are ignored, since a fetch lasts seconds.

    Many sites set a cookie and redirect to the same page, endlessly if the cookie is not sent back.
    """

    def __init__(self) -> None:
        self._pairs: defaultdict[str, dict[bytes, bytes]] = defaultdict(dict)

    def keep(self, origin: str, headers: Iterable[tuple[bytes, bytes]]) -> None:
        """Keep the cookies that a response sets, up to _COOKIE_BYTES."""
        for name, value in headers:
            if name.lower() == b"set-cookie":
                pair = value.partition(b";")[0].strip()
                pairs = self._pairs[origin] | {pair.partition(b"=")[0]: pair}
                if len(b"; ".join(pairs.values())) <= _COOKIE_BYTES:
                    self._pairs[origin] = pairs

    def header(self, origin: str) -> dict[str, bytes]:
        """The cookie header for a request, empty without cookies."""
        pairs = self._pairs[origin]
        return {"cookie": b"; ".join(pairs.values())} if pairs else {}


@dataclass(frozen=True)
class Policy:
    """Limits of the client. Units: `timeout_s` for a whole fetch; `max_bytes` of the body, compressed and decompressed;
    with 0 the body is not read.

    `exempt_origins` are origins set by an operator (`http://127.0.0.1:1234`), which may have private addresses, but
    not as the target of a redirect from another origin. `ports` are the only ones allowed at any other origin.
    """

    contact_url: str = ""
    timeout_s: float = 10.0
    max_bytes: int = 10_000_000
    max_redirects: int = 5
    exempt_origins: frozenset[str] = frozenset()
    ports: frozenset[int] = WEB_PORTS

    @property
    def user_agent(self) -> str:
        """The User-Agent header: the product and its contact address."""
        return f"OpenErrata/1.0 (+{self.contact_url})" if self.contact_url else "OpenErrata/1.0"


@dataclass(frozen=True)
class Request:
    """A request; limits that are None are the policy's."""

    url: str
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    timeout_s: float | None = None
    max_bytes: int | None = None


@dataclass(frozen=True)
class Fetched:
    """A response of any status. Header names are lower case; `hops` are the URLs that redirected."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    final_url: str
    hops: tuple[str, ...] = ()


class GuardedHttpClient:
    """An HTTP client for untrusted addresses; close it when done."""

    def __init__(
        self,
        policy: Policy,
        *,
        resolve: Resolver = system_resolver,
        network: httpcore.AsyncNetworkBackend | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        network = network or httpcore.AnyIOBackend()
        self._policy = policy
        self._exempt = frozenset(parse_url(origin).origin for origin in policy.exempt_origins)
        self._public = _pool(PublicOnly(resolve, network, policy.ports), tls)
        self._anywhere = _pool(network, tls)

    async def fetch(self, request: Request) -> Fetched:
        """Fetch a URL and follow its redirects; a response of any status is returned.

        Raises: WebError: see ErrorKind.
        """
        timeout_s = self._policy.timeout_s if request.timeout_s is None else request.timeout_s
        try:
            async with asyncio.timeout(timeout_s):
                return await self._follow(request)
        except (TimeoutError, httpcore.TimeoutException):
            raise WebError("timeout", f"no complete answer within {timeout_s:g} s") from None
        except httpcore.NetworkError as error:
            raise WebError("connection_failed", f"the connection failed: {type(error).__name__}") from error
        except (httpcore.ProtocolError, httpcore.UnsupportedProtocol) as error:
            raise WebError("bad_response", f"not HTTP as it should be: {error}") from error

    async def _follow(self, request: Request) -> Fetched:
        url = parse_url(request.url)
        exempt = url.origin in self._exempt
        hops: list[str] = []
        cookies = Cookies()
        for _ in range(self._policy.max_redirects + 1):
            answer = await self._once(request, url, cookies, exempt=exempt)
            location = answer.headers.get("location")
            if answer.status not in _REDIRECTS or location is None:
                return replace(answer, hops=tuple(hops))
            hops.append(str(url))
            target = parse_url(_read_location(location), base=url)
            if target.origin != url.origin:
                request = _without(request, _STAY_WITH_ORIGIN)
                exempt = False
            if answer.status not in _KEEP_METHOD and request.method not in ("GET", "HEAD"):
                request = replace(_without(request, _OF_THE_BODY), method="GET", body=None)
            url = target
        raise WebError("too_many_redirects", f"more than {self._policy.max_redirects} redirects")

    async def _once(self, request: Request, url: Url, cookies: Cookies, *, exempt: bool) -> Fetched:
        limit = self._policy.max_bytes if request.max_bytes is None else request.max_bytes
        headers: dict[str, str | bytes] = {
            "accept": "*/*",
            **cookies.header(url.origin),
            **{name.lower(): value for name, value in request.headers.items()},
            "host": url.authority,
            "user-agent": self._policy.user_agent,
            "accept-encoding": ACCEPT_ENCODING,
        }
        async with (self._anywhere if exempt else self._public).stream(
            request.method,
            httpcore.URL(scheme=url.scheme.encode(), host=url.host.encode(), port=url.port, target=url.target.encode()),
            headers=list(headers.items()),
            content=request.body,
            extensions={"timeout": {"connect": request.timeout_s or self._policy.timeout_s}},
        ) as response:
            cookies.keep(url.origin, response.headers)
            found = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers}
            if limit == 0 or (response.status in _REDIRECTS and "location" in found):
                return Fetched(response.status, found, b"", str(url))
            declared = found.get("content-length", "")
            if declared.isdecimal() and int(declared[:20]) > limit:
                raise WebError("too_large", f"the body is longer than {limit} bytes")
            content = await read_body(response.aiter_stream(), found.get("content-encoding", ""), limit)
            return Fetched(response.status, found, content, str(url))

    async def close(self) -> None:
        """Close idle connections."""
        await self._public.aclose()
        await self._anywhere.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def _read_location(header: str) -> str:
    """A redirect's target, decoded as browsers do: many sites send UTF-8 without percent-encoding."""
    try:
        return header.encode("latin-1").decode()
    except UnicodeDecodeError:
        return header


def _pool(network: httpcore.AsyncNetworkBackend, tls: ssl.SSLContext | None) -> httpcore.AsyncConnectionPool:
    return httpcore.AsyncConnectionPool(
        ssl_context=tls,
        max_connections=None,
        max_keepalive_connections=_IDLE_CONNECTIONS,
        keepalive_expiry=_IDLE_S,
        network_backend=network,
    )


def _without(request: Request, names: frozenset[str]) -> Request:
    return replace(
        request, headers={name: value for name, value in request.headers.items() if name.lower() not in names}
    )
