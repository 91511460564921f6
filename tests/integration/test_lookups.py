"""What a model gets when it looks something up: real sockets for pages, a real database for the author."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Never
from uuid import UUID

import pytest

from kit.database import Database
from kit.documents.reading import Reader
from kit.errors import Retry
from kit.research import PAGE_BYTES, PAGE_TIMEOUT_S, TEXT_BYTES, truncate
from kit.web import GuardedHttpClient, Policy, Request, WebError
from services.investigator.domain import AuthorPost, Prior
from services.investigator.reads import BEGINNING_CHARACTERS, SqlReads
from services.investigator.research import Lookups
from tests.integration.readmodel_tables import fill, prepare, store_at
from tests.support.factories import NOW
from tests.support.fakes import StillClock
from tests.support.pdf_files import pdf
from tests.support.servers import Prepare
from tests.support.sites import Answer, Fault, Sites
from tests.unit.projector.histories import FACT_CHECK, Page, Tape

pytest_plugins = ["tests.support.servers"]


class NoPosts:
    """An author nobody has heard of."""

    async def by_same_author(self, post_id: UUID, analysis: str, limit: int) -> Sequence[AuthorPost]:
        return ()


class BrokenPosts:
    """A read model that is away."""

    async def by_same_author(self, post_id: UUID, analysis: str, limit: int) -> Sequence[AuthorPost]:
        raise OSError("10.0.0.7 refused")


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return prepare


@pytest.fixture
async def sites() -> AsyncIterator[Sites]:
    async with Sites() as running:
        yield running


@asynccontextmanager
async def lookups(*sites: Sites, posts: Any = None, timeout_s: float = 10.0) -> AsyncIterator[Lookups]:
    policy = Policy("https://contact.example/", timeout_s, exempt_origins=frozenset(site.url for site in sites))
    async with GuardedHttpClient(policy) as http:
        yield Lookups(http, Reader(within_s=60), posts or NoPosts(), StillClock())


async def fetched(url: str, *sites: Sites) -> dict[str, Any]:
    async with lookups(*sites) as each:
        answer = json.loads(await each.fetch_url(json.dumps({"url": url})))
        assert isinstance(answer, dict)
        return answer


async def test_a_page_is_answered_with_its_words(sites: Sites) -> None:
    html = "<title>On bats</title><p>Bats <b>see</b>.</p><p>\u00c9t\u00e9 <script>no</script></p>"
    sites.pages["/bats"] = Answer(200, {"content-type": "text/html; charset=utf-8"}, html.encode())
    sites.pages["/old"] = Answer(301, {"location": "/bats"})
    assert await fetched(f"{sites.url}/old", sites) == {
        "ok": True,
        "requestedUrl": f"{sites.url}/old",
        "finalUrl": f"{sites.url}/bats",
        "status": 200,
        "contentType": "text/html; charset=utf-8",
        "title": "On bats",
        "contentText": "Bats see.\n\u00c9t\u00e9",
        "truncated": False,
        "retrievedAt": NOW.isoformat(),
    }
    assert "contact.example" in sites.requests[0].headers["user-agent"]
    assert sites.requests[0].headers["accept"].startswith("text/html")


@pytest.mark.parametrize(
    ("content_type", "body", "title", "text"),
    [
        ("application/json", b'{"a":1}', None, '{\n  "a": 1\n}'),
        ("text/plain", b"plain  words", None, "plain words"),
        ("application/pdf", pdf("Bats can see.", title="On bats"), "On bats", "Bats can see."),
    ],
)
async def test_other_documents_are_words_too(
    sites: Sites, content_type: str, body: bytes, title: str | None, text: str
) -> None:
    sites.pages["/a"] = Answer(200, {"content-type": content_type}, body)
    answer = await fetched(f"{sites.url}/a", sites)
    assert (answer["ok"], answer["title"], answer["contentText"]) == (True, title, text)


class Noting:
    """A http that lets nobody through and remembers who asked."""

    def __init__(self) -> None:
        self.asked: list[Request] = []

    async def fetch(self, request: Request) -> Never:
        self.asked.append(request)
        raise WebError("timeout", "nothing came")


async def test_a_page_is_waited_for_and_read_only_so_long() -> None:
    http: Any = Noting()
    answer = json.loads(await Lookups(http, Reader(), NoPosts(), StillClock()).fetch_url('{"url": "https://e.org"}'))
    assert answer["errorKind"] == "FETCH_FAILED"
    (asked,) = http.asked
    assert (asked.timeout_s, asked.max_bytes) == (PAGE_TIMEOUT_S, PAGE_BYTES)


async def test_any_status_is_an_answer(sites: Sites) -> None:
    sites.pages["/a"] = Answer(404, {"content-type": "text/plain"}, b"gone")
    answer = await fetched(f"{sites.url}/a", sites)
    assert (answer["ok"], answer["status"], answer["contentText"]) == (True, 404, "gone")


async def test_a_long_page_is_cut_at_a_whole_character(sites: Sites) -> None:
    sites.pages["/a"] = Answer(200, {"content-type": "text/plain; charset=utf-8"}, ("x" + "\u00e9" * 20_000).encode())
    answer = await fetched(f"{sites.url}/a", sites)
    assert answer["truncated"] is True
    assert answer["contentText"] == "x" + "\u00e9" * ((TEXT_BYTES - 1) // 2)


def test_cutting() -> None:
    assert truncate("abc", 3) == "abc"
    assert truncate("abc\u20ac", 5) == "abc"
    assert truncate("\u20ac\u20ac", 3) == "\u20ac"


@pytest.mark.parametrize("fault", ["huge", "gzip_bomb", "redirect_loop", "truncated", "reset", "redirect_private"])
async def test_trouble_with_a_page_is_an_answer(sites: Sites, fault: Fault) -> None:
    sites.fail(fault)
    answer = await fetched(f"{sites.url}/a", sites)
    assert (answer["ok"], answer["errorKind"], answer["requestedUrl"]) == (False, "FETCH_FAILED", f"{sites.url}/a")
    assert answer["error"]
    assert len(json.dumps(answer)) < PAGE_BYTES // 1_000


async def test_an_unreadable_page_is_an_answer(sites: Sites) -> None:
    sites.pages["/a"] = Answer(200, {"content-type": "image/png"}, b"\x89PNG")
    answer = await fetched(f"{sites.url}/a", sites)
    assert (answer["ok"], answer["errorKind"]) == (False, "UNREADABLE")


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1/", "http://localhost/x", "http://169.254.169.254/latest", "http://[::1]/", "file:///etc/passwd",
     "ftp://a.example/", "https://user:secret@example.org/", "not a url", "http://10.0.0.1/"],
)  # fmt: skip
async def test_no_address_leads_inside(url: str) -> None:
    answer = await fetched(url)
    assert (answer["ok"], answer["errorKind"]) == (False, "FETCH_FAILED")


async def test_arguments_that_cannot_be_read_are_an_answer() -> None:
    async with lookups() as each:
        answer = json.loads(await each.fetch_url('{"address": "x"}'))
        assert (answer["ok"], answer["errorKind"], answer["requestedUrl"]) == (False, "INVALID_ARGUMENTS", None)
        answer = json.loads(await each.author_history(UUID(int=1), FACT_CHECK, "[]"))
        assert (answer["ok"], answer["errorKind"]) == (False, "INVALID_ARGUMENTS")


async def test_an_author_who_cannot_be_looked_up_is_an_answer_that_tells_nothing_of_us() -> None:
    async with lookups(posts=BrokenPosts()) as each:
        fields = await each.author_history(UUID(int=1), FACT_CHECK, '{"posts": 3}')
    assert json.loads(fields)["errorKind"] == "UNAVAILABLE"
    assert "10.0.0.7" not in fields


def by(author: Page, *pages: Page) -> None:
    """Let one author have written them all."""
    for page in pages:
        page.author = author.author


@pytest.mark.requirement("2.4-02")
async def test_an_authors_other_posts_come_with_what_was_found_in_them(database_url: str) -> None:
    """2.4-02: The model can look up the author's other posts."""
    me, satire, plain, other = Page("me"), Page("satire", "A joke. " * 100), Page("plain"), Page("other")
    by(me, satire, plain)
    tape = Tape()
    tape.add(satire.registered(), satire.requested(), satire.started())
    tape.add(satire.proposed(0), satire.approved(0), satire.drafted(1), satire.completed([0]))
    tape.add(plain.registered(), me.registered(), other.registered())
    store = store_at(database_url)
    await fill(store, tape.records)
    await store.close()
    database = Database(database_url, role="reader")
    async with lookups(posts=SqlReads(database)) as each:
        calls = each.calls(me.post_id, FACT_CHECK)
        told = json.loads(await calls["author_history"]('{"posts": 20}'))
        one = json.loads(await calls["author_history"]('{"posts": 1}'))
        nobody = json.loads(await each.calls(UUID(int=5), FACT_CHECK)["author_history"]('{"posts": 1}'))
    await database.close()
    assert (told["ok"], told["author"]) == (True, "Author of me")
    newest, oldest = told["posts"]
    assert newest["url"].startswith(plain.url)
    assert (newest["investigated"], newest["findings"], newest["findingsInAll"]) == (False, [], 0)
    assert oldest["url"].startswith(satire.url)
    assert oldest["beginning"] == ("A joke. " * 100)[:BEGINNING_CHARACTERS]
    assert (oldest["investigated"], oldest["findingsInAll"], oldest["textVerified"]) == (True, 1, True)
    assert oldest["findings"] == [{"text": "Wrong sentence 0.", "summary": "It is not so."}]
    assert one["posts"] == [newest]
    assert (nobody["author"], nobody["posts"]) == (None, [])


@pytest.mark.requirement("2.4-05", "2.6-08", "2.6-09")
async def test_what_was_found_before_is_the_newest_verified_result_of_another_version(database_url: str) -> None:
    """2.4-05: Incremental update runs for edited posts.
    2.6-08: A view of a new version returns the verified earlier result meanwhile.
    2.6-09: An earlier result that only readers vouch for is not returned.
    """
    first, second, third = Page("p", "One. Two."), Page("p", "One. Three."), Page("p", "One. Four.")
    reader_only = Page("x", "Words.", platform="X", provenance="CLIENT_FALLBACK")
    reader_edit = Page("x", "Other words.", platform="X", provenance="CLIENT_FALLBACK")
    tape = Tape()
    for page in (first, second, reader_only):
        tape.add(page.registered(), page.requested(), page.started(), page.drafted(), page.completed([0]))
    tape.add(third.registered(), third.requested(), reader_edit.registered())
    store = store_at(database_url)
    await fill(store, tape.records)
    await store.close()
    database = Database(database_url, role="reader")
    reads = SqlReads(database)
    found = await reads.prior(third.post_id, third.version_id, FACT_CHECK)
    assert isinstance(found, Prior)
    assert (found.investigation_id, found.text) == (second.investigation_id, second.text)
    assert [(claim.claim_id, claim.payload) for claim in found.claims] == [second.claim(0)]
    assert await reads.prior(second.post_id, second.version_id, FACT_CHECK) is None, "its own result is no prior one"
    assert await reads.prior(third.post_id, third.version_id, "ANOTHER") is None
    assert await reads.prior(reader_edit.post_id, reader_edit.version_id, FACT_CHECK) is None, "nobody vouched for it"
    await reads.close()
    await database.close()


async def test_a_run_waits_for_the_read_model_and_then_comes_back() -> None:
    away = Database("postgresql+psycopg://reader@127.0.0.1:9/none", role="reader")
    began = asyncio.get_running_loop().time()
    with pytest.raises(Retry, match="database"):
        await SqlReads(away, patience_s=1.5).prior(UUID(int=1), UUID(int=2), FACT_CHECK)
    assert asyncio.get_running_loop().time() - began >= 1.5
    await away.close()
