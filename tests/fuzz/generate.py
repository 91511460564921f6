"""Requests of every kind that a stranger may send: valid ones, valid ones with one thing wrong, and noise.

The same seed gives the same requests, but for the ids that the system itself has answered with.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any, Final
from urllib.parse import quote

Json = dict[str, Any]

WORDS: Final = ("bread", "moon", "only", "10 percent", "brains", "the", "of", "Ada", "visible", "naked eye", "never")
HOSTILE: Final = (
    "",
    " ",
    "\0",
    "\ud800",
    "\udfff\ud800",
    "\u202e\u2066mirrored\u2069",
    "a" + "\u0301\u0327" * 2_000,
    "\ufeff\u200b\u00ad",
    "x" * 5_000,
    "😀" * 900,
    "<svg><sup>2</sup></svg>",
    "<math><sup>",
    "<select><option>" * 300,
    "<div>" * 1_500,
    "<b a=1 " * 600 + ">",
    "<!--<script>--><title>",
    "'; DROP TABLE post; --",
    "%00%ff%c0%af",
    "{{7*7}}${7*7}",
    "../../../../etc/passwd",
    "javascript:alert(1)",
    "http://127.0.0.1:1/",
    "http://[::1]/",
    "https://x.com/\r\nset-cookie: a=b",
    "1e999",
    "-1",
    "9" * 40,
    "2026-02-30T00:00:00Z",
    "2026-01-01T00:00:00.000Z",
)
ODD: Final[tuple[Any, ...]] = (None, True, 0, -1, 1.5, 2**53 + 1, 10**40, [], {}, [[]], {"a": {"b": []}}, [None] * 300)
PAGES: Final = (
    "/",
    "/corrections",
    "/search",
    "/authors",
    "/figures",
    "/feed.xml",
    "/sitemap.xml",
    "/robots.txt",
    "/docs",
    "/openapi.json",
    "/asyncapi.json",
    "/health",
    "/ready",
    "/style.css",
    "/nothing/here",
    "/investigations/{id}",
    "/investigations/{id}.json",
    "/investigations/{id}/card.png",
    "/posts/x/{id}",
    "/posts/{word}/{word}",
    "/authors/{id}",
    "/authors/{id}/feed.xml",
    "/sources/{id}",
    "/events.html",
)
PARAMETERS: Final = ("q", "platform", "after", "order", "page", "before", "from", "to", "provider", "nothing")
QUERIES: Final = (
    "{ publicMetrics { totalInvestigatedPosts investigatedPostsWithFlags } }",
    '{ publicInvestigation(investigationId: "%s") { investigation { id } claims { id summary } } }',
    '{ post(platform: X, externalId: "%s") { post { url } investigations { id } } }',
    '{ searchInvestigations(query: "%s", limit: 5) { investigations { id } } }',
    "{ __schema { types { name fields { name type { name } } } } }",
    "{ " + " ".join(f"a{n}: publicMetrics {{ totalInvestigatedPosts }}" for n in range(60)) + " }",
    "{ publicMetrics " * 40 + "}" * 40,
    "fragment F on Query { ...F } { ...F }",
    "query($a: Int!) { publicMetrics { totalInvestigatedPosts } }",
    "{",
)


@dataclass(frozen=True, slots=True)
class Sent:
    """One request as bytes, and what it is, for the report."""

    what: str
    data: bytes
    well_framed: bool = True


class Strangers:
    """An endless row of requests from many addresses. `versions` are ids that the system has answered with."""

    def __init__(self, seed: int, key: str) -> None:
        self._draw = Random(seed)
        self._key = key
        self._number = seed % 1_000 * 10_000_000
        self.versions: list[str] = []
        self._kinds: tuple[tuple[int, Callable[[], Sent]], ...] = (
            (22, self._observation),
            (16, self._procedure),
            (27, self._page),
            (14, self._graphql),
            (8, self._body),
            (12, self._headers),
            (1, self._framing),
        )

    def requests(self, count: int) -> Iterator[Sent]:
        """So many requests."""
        weights, kinds = zip(*self._kinds, strict=True)
        for _ in range(count):
            (make,) = self._draw.choices(kinds, weights)
            yield make()

    def _text(self) -> str:
        draw = self._draw
        if draw.random() < 0.6:
            return draw.choice(HOSTILE)
        return "".join(chr(draw.choice((draw.randrange(1, 128), draw.randrange(1, 0xD800)))) for _ in range(20))

    def _id(self) -> str:
        if self.versions and self._draw.random() < 0.5:
            return self._draw.choice(self.versions)
        return self._draw.choice(("", "0" * 8 + "-0000-5000-8000-" + "0" * 12, "1", self._text()))

    def _address(self) -> str:
        draw = self._draw
        return ".".join(str(draw.randrange(1, 255)) for _ in range(4)) if draw.random() < 0.95 else self._text()[:40]

    def _post(self) -> Json:
        self._number += 1
        number, text = self._number, f"Note {self._number}. {' '.join(self._draw.choices(WORDS, k=30))}"
        match self._draw.randrange(4):
            case 0:
                return {
                    "platform": "X",
                    "externalId": str(1_700_000_000_000_000_000 + number),
                    "url": f"https://x.com/walker/status/{1_700_000_000_000_000_000 + number}",
                    "observedContentText": text,
                    "metadata": {"authorHandle": "walker", "authorDisplayName": "W", "text": text, "mediaUrls": []},
                }
            case 1:
                return {
                    "platform": "LESSWRONG",
                    "externalId": f"b{number:015}",
                    "url": f"https://www.lesswrong.com/posts/b{number:015}/a-walk",
                    "metadata": {"slug": "a-walk", "title": "A", "htmlContent": f"<p>{text}</p>", "tags": ["a"]},
                }
            case 2:
                return {
                    "platform": "SUBSTACK",
                    "externalId": str(number),
                    "url": f"https://walks.substack.com/p/b-{number}",
                    "observedContentText": text,
                    "metadata": {
                        "substackPostId": str(number),
                        "publicationSubdomain": "walks",
                        "slug": f"b-{number}",
                        "title": "A walk",
                        "authorName": "W",
                    },
                }
            case _:
                return {
                    "platform": "WIKIPEDIA",
                    "url": "https://en.wikipedia.org/wiki/Bread",
                    "observedContentText": text,
                    "metadata": {"language": "en", "title": "Bread", "pageId": "7", "revisionId": str(number)},
                }

    def _spoilt(self, value: Json) -> Json:
        """The same with one field changed, removed or added, at any depth."""
        spoilt = copy.deepcopy(value)
        holder = spoilt
        inner = [name for name, each in spoilt.items() if isinstance(each, dict)]
        if inner and self._draw.random() < 0.6:
            holder = spoilt[self._draw.choice(inner)]
        name = self._draw.choice([*holder, "displayTitle", "likeCount", "postedAt", "observedImageOccurrences"])
        wrong = self._draw.random()
        if wrong < 0.15:
            holder.pop(name, None)
        else:
            holder[name] = self._text() if wrong < 0.75 else self._draw.choice(ODD)
        return spoilt

    def _http(
        self, method: str, target: str, body: bytes = b"", *, what: str, more: tuple[tuple[str, str], ...] = ()
    ) -> Sent:
        headers = [("host", "127.0.0.1"), ("x-forwarded-for", self._address()), *more]
        if body or method == "POST":
            headers.append(("content-length", str(len(body))))
        head = f"{method} {target} HTTP/1.1\r\n" + "".join(
            f"{name}: {_header_value(value)}\r\n" for name, value in headers
        )
        return Sent(what, head.encode("latin-1", "replace") + b"\r\n" + body)

    def _rpc(self, name: str, question: Any, *, what: str, key: bool = False) -> Sent:
        more = [("content-type", "application/json"), ("x-openerrata-extension-version", "0.3.3")]
        if key:
            more.append(("x-api-key", self._key))
        return self._http("POST", f"/trpc/{name}", dump(question), what=what, more=tuple(more))

    def _observation(self) -> Sent:
        post = self._post() if self._draw.random() < 0.3 else self._spoilt(self._post())
        return self._rpc("post.registerObservedVersion", post, what=f"observation {post.get('platform')!r}")

    def _procedure(self) -> Sent:
        draw = self._draw.random()
        if draw < 0.4:
            return self._rpc("post.recordViewAndGetStatus", {"postVersionId": self._id()}, what="view")
        if draw < 0.44:
            return self._rpc("post.investigateNow", {"postVersionId": self._id()}, what="investigate", key=True)
        if draw < 0.6:
            keys = [{"platform": "X", "externalId": self._text(), "versionHash": self._text()} for _ in range(3)]
            return self._query("post.batchStatus", {"posts": keys})
        if draw < 0.8:
            return self._query("post.getInvestigation", {"investigationId": self._id()})
        return self._query(self._draw.choice(("post.validateSettings", "public.getMetrics", "post.nothing", "..")), {})

    def _query(self, name: str, question: Json) -> Sent:
        given = self._spoilt(question) if question and self._draw.random() < 0.5 else question
        target = f"/trpc/{quote(name)}?input={quote(dump(given))}"[:60_000]
        return self._http("GET", target, what=name, more=(("x-openerrata-extension-version", "0.3.3"),))

    def _page(self) -> Sent:
        path = self._draw.choice(PAGES).format(id=quote(encode(self._id())), word=quote(encode(self._text()[:200])))
        asked = [
            f"{self._draw.choice(PARAMETERS)}={quote(encode(self._text()[:600]))}"
            for _ in range(self._draw.randrange(3))
        ]
        target = path + ("?" + "&".join(asked) if asked else "")
        return self._http(self._draw.choice(("GET", "GET", "GET", "HEAD", "OPTIONS")), target, what=f"page {path[:60]}")

    def _graphql(self) -> Sent:
        query = self._draw.choice(QUERIES)
        if "%s" in query:
            query %= json.dumps(encode(self._text()[:300]).decode())[1:-1]
        asked: Json = {"query": query}
        if self._draw.random() < 0.3:
            asked = self._spoilt({**asked, "variables": {"a": 1}, "operationName": None})
        what = f"graphql {query[:60]!r}"
        return self._http("POST", "/graphql", dump(asked), what=what, more=(("content-type", "application/json"),))

    def _body(self) -> Sent:
        body = bytearray(dump(self._post()))
        for _ in range(self._draw.randrange(1, 6)):
            body[self._draw.randrange(len(body))] = self._draw.randrange(256)
        target = self._draw.choice(("/trpc/post.registerObservedVersion", "/graphql", "/trpc/post.investigateNow"))
        more = (("content-type", "application/json"), ("x-openerrata-extension-version", "0.3.3"))
        return self._http("POST", target, bytes(body), what=f"broken body to {target}", more=more)

    def _headers(self) -> Sent:
        names = ["accept", "accept-encoding", "if-none-match", "if-modified-since", "range", "cookie", "origin"]
        names += ["x-openerrata-extension-version", "x-api-key", "x-openai-api-key", "user-agent", "content-type"]
        more = tuple((self._draw.choice(names), self._text()[:2_000]) for _ in range(self._draw.randrange(1, 4)))
        target = self._draw.choice(("/", "/corrections", "/trpc/post.validateSettings", "/feed.xml", "/health"))
        return self._http("GET", target, what=f"headers of {target}", more=more)

    def _framing(self) -> Sent:
        """What is no request, or two at once: it may be answered with an error or with silence, and nothing more."""
        piece = self._draw.choice(
            (
                b"GET / HTTP/1.1\r\n\r\n",
                b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
                b"POST /graphql HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
                b"POST /graphql HTTP/1.1\r\nhost: a\r\ncontent-length: -1\r\n\r\n",
                b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
                b"GET / HTTP/9.9\r\nhost: a\r\n\r\n",
                b"\0" * 400,
                self._draw.randbytes(200),
            )
        )
        return Sent("broken framing", piece, well_framed=False)


def _header_value(text: str) -> str:
    return text.translate({ord("\r"): " ", ord("\n"): " ", 0: " "})


def encode(text: str) -> bytes:
    """A text as UTF-8; halves of characters are replaced."""
    return text.encode("utf-8", "replace")


def dump(value: Any) -> bytes:
    """A value as JSON."""
    return json.dumps(value).encode()
