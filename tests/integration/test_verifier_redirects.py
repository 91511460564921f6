"""A site's word is what its own hosts answered, however a request was led about."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpcore
import pytest
from prometheus_client import CollectorRegistry

from contracts.v1 import CanonicalFetched, CanonicalUnavailable, Event, ObservationReceived
from contracts.v1.pages import Observation
from kit.clock import SystemClock
from kit.web import GuardedHttpClient, Policy
from services.verifier.adapters import SitePages
from services.verifier.domain import Lifetimes
from services.verifier.fetching import Fetcher
from services.verifier.handlers import Verifier
from tests.integration.test_verifier import HTML, PATIENCE, MemoryTexts, lesswrong, substack, wikipedia
from tests.support.certificates import certificate_for
from tests.support.sites import Answer, Seen, Sites

PUBLIC = "8.8.8.8"
OWN = "own.example"
NAMES = (
    "someone.substack.com", "other.substack.com", "substack.com", OWN, "evil.example",
    "www.lesswrong.com", "en.wikipedia.org", "be-x-old.wikipedia.org", "be-tarask.wikipedia.org",
)  # fmt: skip
SUBSTACK = "https://someone.substack.com/api/v1/posts/a-post"
BY_ID = "https://substack.com/api/v1/posts/by-id/"
WIKIPEDIA = "https://en.wikipedia.org/w/api.php"
LESSWRONG = "https://www.lesswrong.com/graphql"


class Internet(httpcore.AsyncNetworkBackend):
    """Every public address leads to one stand-in."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._network = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        assert (host, port) == (PUBLIC, 443)
        return await self._network.connect_tcp("127.0.0.1", self._port, timeout, local_address, socket_options)


def to(location: str) -> Answer:
    return Answer(301, {"location": location})


def says(document: Any) -> Answer:
    return Answer(200, {"content-type": "application/json"}, json.dumps(document).encode())


def post(number: int = 4242, html: str = "<p>The real text.</p>", **given: Any) -> dict[str, Any]:
    """A post as Substack's interface has it."""
    return {
        "id": number,
        "slug": "a-post",
        "title": "A post",
        "audience": "everyone",
        "canonical_url": f"https://{OWN}/p/a-post",
        "body_html": html,
        "publishedBylines": [{"name": "Someone", "handle": "someone"}],
        **given,
    }


@dataclass
class Web:
    """Hosts by address without the query."""

    verifier: Verifier
    texts: MemoryTexts
    requests: list[str] = field(default_factory=list)

    async def verify(self, observation: Observation) -> Event:
        (fact,) = [
            fact
            async for fact in self.verifier.on_observation_received(ObservationReceived(observation=observation), 1)
        ]
        return fact


@asynccontextmanager
async def web(folder: Path, answers: Mapping[str, Answer]) -> AsyncIterator[Web]:
    server, client = certificate_for(NAMES, folder)
    found = Web(None, MemoryTexts())  # type: ignore[arg-type]  # comes when the server listens

    def answer(request: Seen) -> Answer:
        url = f"https://{request.headers['host']}{request.path}"
        found.requests.append(url)
        return answers.get(url, Answer(404))

    async def resolve(host: str) -> list[str]:
        return [PUBLIC]

    async with Sites(tls=server) as sites:
        sites.pages = _Everything(answer)
        http = GuardedHttpClient(Policy(), resolve=resolve, network=Internet(sites.port), tls=client)
        async with http:
            pages = SitePages(
                Fetcher(http, SystemClock(), PATIENCE),
                Lifetimes(page_s=0.0, failure_s=0.0, refusal_s=0.0),
                found.texts,
                SystemClock(),
                {},
                CollectorRegistry(),
                capacity=10,
                cached=100,
            )
            found.verifier = Verifier(pages)
            yield found
            await pages.close()


class _Everything(dict[str, Any]):
    """One answer to every path."""

    def __init__(self, answer: Any) -> None:
        super().__init__()
        self._answer = answer

    def get(self, path: str, default: Any = None) -> Any:
        return self._answer


FORGED = "<p>What its owner makes another say.</p>"
LEADS_AWAY = {SUBSTACK: to(f"https://{OWN}/api/v1/posts/a-post")}
AT_HOME = f"https://{OWN}/api/v1/posts/a-post"


@pytest.mark.requirement("2.9-03")
async def test_a_publication_of_its_own_domain_is_confirmed_with_the_text_that_substack_has(tmp_path: Path) -> None:
    """2.9-03: Substack verification."""
    answers = LEADS_AWAY | {
        AT_HOME: says(post(html=FORGED, title="Forged", publishedBylines=[{"name": "Eve", "handle": "eve"}])),
        f"{BY_ID}4242": says({"post": post(), "publication": {"subdomain": "someone"}}),
    }
    async with web(tmp_path, answers) as found:
        fact = await found.verify(substack())
    assert isinstance(fact, CanonicalFetched), fact
    assert found.requests == [SUBSTACK, AT_HOME, f"{BY_ID}4242"]
    assert found.texts.texts[fact.page.html.sha256] == "<p>The real text.</p>"
    assert fact.page.url == f"https://{OWN}/p/a-post"
    assert (fact.page.metadata["title"], fact.page.metadata["author_name"]) == ("A post", "Someone")


FOREIGN_POST = {
    "post": post(99, canonical_url="https://victim.example/p/a-post"),
    "publication": {"subdomain": "victim"},
}


@pytest.mark.parametrize(
    ("observation", "answers", "reason"),
    [
        pytest.param(
            substack(post="99"),
            LEADS_AWAY | {AT_HOME: says(post(99, FORGED)), f"{BY_ID}99": says(FOREIGN_POST)},
            "other_publication",
            id="the post of another publication",
        ),
        pytest.param(
            substack(post="99"),
            LEADS_AWAY | {AT_HOME: says(post(99, FORGED))},
            "other_host",
            id="a post that Substack does not know",
        ),
        pytest.param(
            substack(),
            LEADS_AWAY | {AT_HOME: says(post(html=FORGED)), f"{BY_ID}4242": Answer(500)},
            "server_error",
            id="nobody confirms it now",
        ),
        pytest.param(
            substack(),
            LEADS_AWAY | {AT_HOME: says(post(html=FORGED)), f"{BY_ID}4242": to(AT_HOME)},
            "other_host",
            id="the confirmation comes from elsewhere too",
        ),
        pytest.param(
            substack(),
            LEADS_AWAY | {AT_HOME: says(post(html=FORGED)), f"{BY_ID}4242": says({"post": post(4243)})},
            "other_host",
            id="another post is confirmed",
        ),
        pytest.param(
            substack(),
            {
                SUBSTACK: to("https://evil.example/x"),
                "https://evil.example/x": to("https://other.substack.com/api/v1/posts/theirs"),
                "https://other.substack.com/api/v1/posts/theirs": says(
                    post(99, canonical_url="https://other.substack.com/p/theirs")
                ),
                f"{BY_ID}99": says({"post": post(99, canonical_url="https://victim.example/p/theirs")}),
            },
            "other_publication",
            id="away and back to another publication",
        ),
        pytest.param(substack(), LEADS_AWAY, "not_found", id="its own domain denies it"),
        pytest.param(
            wikipedia(),
            {
                WIKIPEDIA: to("https://evil.example/w/api.php"),
                "https://evil.example/w/api.php": says({"parse": {"pageid": 12, "revid": 77, "text": HTML}}),
            },
            "other_host",
            id="Wikipedia elsewhere",
        ),
        pytest.param(
            wikipedia(),
            {
                WIKIPEDIA: to("https://evil.example/w/api.php"),
                "https://evil.example/w/api.php": says({"error": {"code": "nosuchrevid"}}),
            },
            "other_host",
            id="a denial from elsewhere",
        ),
        pytest.param(
            lesswrong(),
            {
                LESSWRONG: Answer(307, {"location": "https://evil.example/graphql"}),
                "https://evil.example/graphql": says(
                    {"data": {"post": {"result": {"_id": "abc123", "contents": {"html": FORGED}}}}}
                ),
            },
            "other_host",
            id="LessWrong elsewhere",
        ),
    ],
)
@pytest.mark.requirement("2.9-03", "2.9-14")
async def test_what_another_host_answers_confirms_nothing(
    tmp_path: Path, observation: Observation, answers: dict[str, Answer], reason: str
) -> None:
    """2.9-03: Substack verification.
    2.9-14: Fetch failure reason kept for audit.
    """
    async with web(tmp_path, answers) as found:
        fact = await found.verify(observation)
    assert isinstance(fact, CanonicalUnavailable), fact
    assert fact.reason == reason


async def test_a_site_may_lead_about_among_its_own_hosts(tmp_path: Path) -> None:
    old, new = (f"https://{name}.wikipedia.org/w/api.php" for name in ("be-x-old", "be-tarask"))
    answers = {
        old: to(f"{new}?oldid=77"),
        new: says({"parse": {"title": "A", "pageid": 12, "revid": 77, "text": HTML}}),
        SUBSTACK: to("https://other.substack.com/api/v1/posts/a-post"),
        "https://other.substack.com/api/v1/posts/a-post": says(post()),
    }
    async with web(tmp_path, answers) as found:
        facts = [await found.verify(each) for each in (wikipedia(language="be-x-old"), substack())]
    assert [type(fact) for fact in facts] == [CanonicalFetched] * 2
