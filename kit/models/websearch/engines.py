"""Three search engines behind one interface. Keys are sent in a header and appear in no address, answer or error.

A result may lack fields, but an answer of an unexpected form is an error: an unreadable answer must not look like a
search that found nothing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final
from urllib.parse import parse_qs, urlencode, urlsplit

from pydantic import JsonValue, SecretStr
from selectolax.lexbor import LexborHTMLParser, LexborNode

from kit.models.events import writable
from kit.models.websearch.tool import MAX_RESULTS, Hit, SearchFailed
from kit.web import GuardedHttpClient, Request

_TIMEOUT_S: Final = 15.0
_MAX_BYTES: Final = 2_000_000
_MAX_WORDS: Final = 5_000
"""Units: characters of a title or a summary; both come from pages, and the parser may take quadratic time."""


class DuckDuckGo:
    """DuckDuckGo's page for browsers without scripts: needs no key, but its form may change at any time."""

    def __init__(self, http: GuardedHttpClient, address: str = "https://html.duckduckgo.com/html/") -> None:
        self._http = http
        self._address = address

    async def search(self, query: str) -> Sequence[Hit]:
        body = await _fetch(self._http, Request(f"{self._address}?{urlencode({'q': query})}"))
        page = LexborHTMLParser(body.decode("utf-8", "replace"))
        results = page.css(".result")
        signs_of_none = ".no-results" if results else ".no-results, #links, .results"
        if page.css_first(".result a.result__a") is None and page.css_first(signs_of_none) is None:
            raise SearchFailed("the search engine's answer could not be read")
        return [hit for node in results if (hit := _duckduckgo_hit(node)) is not None]


class Brave:
    """Brave's search API."""

    def __init__(
        self, http: GuardedHttpClient, key: SecretStr, address: str = "https://api.search.brave.com/res/v1/web/search"
    ) -> None:
        self._http = http
        self._key = key
        self._address = address

    async def search(self, query: str) -> Sequence[Hit]:
        address = f"{self._address}?{urlencode({'q': query, 'count': MAX_RESULTS})}"
        headers = {"accept": "application/json", "x-subscription-token": self._key.get_secret_value()}
        answer = _object(await _fetch(self._http, Request(address, headers=headers)))
        web = answer.get("web") or {}
        return _hits(web.get("results", []) if isinstance(web, dict) else None, "description")


class Tavily:
    """Tavily's search API."""

    def __init__(self, http: GuardedHttpClient, key: SecretStr, address: str = "https://api.tavily.com/search") -> None:
        self._http = http
        self._key = key
        self._address = address

    async def search(self, query: str) -> Sequence[Hit]:
        body = json.dumps({"query": query, "max_results": MAX_RESULTS}).encode()
        headers = {
            "authorization": f"Bearer {self._key.get_secret_value()}",
            "content-type": "application/json",
            "content-length": str(len(body)),
        }
        request = Request(self._address, method="POST", headers=headers, body=body)
        return _hits(_object(await _fetch(self._http, request)).get("results"), "content")


async def _fetch(http: GuardedHttpClient, request: Request) -> bytes:
    limited = Request(request.url, request.method, request.headers, request.body, _TIMEOUT_S, _MAX_BYTES)
    answer = await http.fetch(limited)
    if answer.status != 200:
        raise SearchFailed(f"the search engine answered {answer.status}")
    return answer.body


def _object(body: bytes) -> dict[str, JsonValue]:
    try:
        answer = json.loads(body)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise SearchFailed("the search engine's answer could not be read")
    return writable(answer)


def _hits(results: object, snippet: str) -> list[Hit]:
    if not isinstance(results, list):
        raise SearchFailed("the search engine's answer could not be read")
    return [
        Hit(_words(each.get("title")), each["url"], _words(each.get(snippet)))
        for each in results
        if isinstance(each, dict) and _is_web(each.get("url"))
    ]


def _duckduckgo_hit(node: LexborNode) -> Hit | None:
    link = node.css_first("a.result__a")
    if link is None:
        return None
    url = _behind(link.attributes.get("href") or "")
    if not _is_web(url):
        return None
    extract = node.css_first(".result__snippet")
    return Hit(_plain(link.text()), url, _plain(extract.text()) if extract is not None else "")


def _behind(href: str) -> str:
    """The target of a result's link; empty for advertisements and invalid links, which are then dropped."""
    try:
        parts = urlsplit(href)
    except ValueError:
        return ""
    if parts.path == "/l/" and parts.hostname in (None, "duckduckgo.com", "html.duckduckgo.com"):
        return parse_qs(parts.query).get("uddg", [""])[0]
    return "" if f".{parts.hostname}".endswith(".duckduckgo.com") else href


def _is_web(url: object) -> bool:
    return isinstance(url, str) and url.startswith(("http://", "https://"))


def _words(value: object) -> str:
    """The text of a field without the tags by which engines mark matches."""
    return _plain(LexborHTMLParser(value[:_MAX_WORDS]).text() or "") if isinstance(value, str) else ""


def _plain(text: str) -> str:
    return " ".join(text.split())
