"""A reader who tells the server nothing: what leaves the browser over many pages, and what is shown all the same.

The server is one that records what comes over the wire; its log and its proofs are real.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from datetime import UTC, date, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest
import pytest_asyncio
from playwright.async_api import Page

from tests.extension import posts
from tests.extension.chromium import Reader, reader, words
from tests.extension.posts import BRAIN, WALL, Post
from tests.support.lookups import BLOCK, KnownPost, Lookups, lookup_server, prefix_of
from tests.support.sites import Sites

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.xdist_group("extension-private")]

LOADS: Final = 200
ALLOWED: Final = re.compile(r"/lookup/v1/(layout\.json|b6/[0-9a-f]{2}|retractions/\d{4}-\d\d-\d\d)")
HEADERS: Final = {
    "host",
    "connection",
    "accept",
    "accept-encoding",
    "accept-language",
    "cache-control",
    "if-none-match",
    "pragma",
    "priority",
    "sec-ch-ua",
    "sec-ch-ua-mobile",
    "sec-ch-ua-platform",
    "sec-fetch-dest",
    "sec-fetch-mode",
    "sec-fetch-site",
    "sec-fetch-storage-access",
    "user-agent",
}
"""What a browser sends by itself with any request, and whether a bucket has changed."""

LATER: Final = """async () => {
  const { seen } = await chrome.storage.local.get('seen');
  seen.compared -= 2 * 86_400_000;
  await chrome.storage.local.set({ seen });
  await chrome.storage.session.clear();
}"""


HINTED: Final = 80
"""Articles: with one view of eight, none is hinted once in 40,000 runs."""
HOUR_MS: Final = 3_600_000
CHOSEN: Final = "async () => (await chrome.storage.local.get('sendHints')).sendHints === true"
ALL_DUE: Final = """async () => {
  const { hints } = await chrome.storage.local.get('hints');
  const now = Date.now();
  await chrome.storage.local.set({ hints: hints.map((hint) => ({ ...hint, due: now })) });
  await chrome.alarms.create('hint', { when: now });
  return now;
}"""


def known(post: Post, *wrong: str) -> KnownPost:
    """What the server has of a post of X."""
    id_ = post.url.rpartition("/")[2]
    text = re.search(r'data-testid="tweetText">([^<]*)<', post.html)
    assert text is not None
    return KnownPost("X", id_, text[1], wrong)


@pytest_asyncio.fixture(loop_scope="session")
async def private(package: Path) -> AsyncIterator[tuple[Reader, Lookups]]:
    """A new browser whose reader has chosen private reading on the first page, and a server."""
    with lookup_server() as lookups:
        async with reader(package) as running:
            await running.answer_yes("http://127.0.0.1/*")
            await running.allow("http://127.0.0.1/*")
            await running.settle(apiBaseUrl=lookups.url, apiKey="secret", openaiApiKey="sk-secret")
            await running.desk.get_by_label(words("modePrivate")).check()
            await running.desk.get_by_text(words("modeSaved")).wait_for()
            yield running, lookups


async def looked_up(chromium: Reader, page: Page, post: Post) -> None:
    """Wait until nothing is known of a post."""
    tab = await chromium.tab(page)
    ask = "async (key) => { const { [key]: tab } = await chrome.storage.local.get(key); "
    ask += "return tab ? `${tab.externalId} ${tab.state.kind}` : '' }"
    wanted = f"{known(post).external_id} not_investigated"
    await chromium.until(lambda: chromium.chrome(ask, f"tab:{tab}"), "it is looked up", lambda said: said == wanted)


@pytest.mark.requirement("TR-21", "TR-24", "TR-25")
async def test_two_hundred_pages_and_nothing_that_names_one(private: tuple[Reader, Lookups]) -> None:
    """TR-21: Private reading sends layout, prefix and day file, and nothing identifying.
    TR-24: A private reader’s findings are shown with no further request.
    TR-25: Another version of a post is said and never underlined.
    """
    chromium, lookups = private
    read = [posts.x(BRAIN) if number % 20 == 0 else posts.x() for number in range(LOADS)]
    edited, clean = posts.x(WALL), posts.x()
    lookups.posts = [
        *(known(post, *post.wrong) for post in read if post.wrong),
        KnownPost("X", known(edited).external_id, f"{known(edited).text} Later.", (WALL,)),
        known(clean),
    ]
    page = await chromium.open(read[0])
    await chromium.underlines(page, [BRAIN])
    await chromium.shows(page, "1")
    for post in read[1:]:
        chromium.pages[post.url] = post.html
        await page.goto(post.url)
        if post.wrong:
            await chromium.underlines(page, [BRAIN])
        else:
            await looked_up(chromium, page, post)
    chromium.pages |= {post.url: post.html for post in (edited, clean)}
    await page.goto(edited.url)
    await chromium.says(page, words("popupOtherVersion"))
    assert await chromium.underlined(page) == ""
    await page.goto(clean.url)
    await chromium.says(page, words("popupClean"))

    policy, *others = lookups.received
    assert policy.path == "/log/v1/policy", "once, before anything is asked about a post"
    assert [one.path for one in others if not ALLOWED.fullmatch(one.path)] == []
    assert {one.method for one in lookups.received} == {"GET"}
    asked = {one.path for one in others}
    wanted = {f"/lookup/v1/b6/{prefix_of(known(post).key, 6)}" for post in (*read, edited, clean)}
    assert {path for path in asked if path.startswith("/lookup/v1/b6/")} == wanted
    assert {name for one in lookups.received for name in one.headers} <= HEADERS
    assert {one.headers["accept-language"] for one in others} == {"*"}
    assert "secret" not in repr(lookups.received)
    assert lookups.sizes
    assert [size for size in lookups.sizes if size % BLOCK] == []
    elsewhere = [one.url for one in chromium.sent if one.by == "extension" and not one.url.startswith(lookups.url)]
    assert elsewhere == []


@pytest.mark.requirement("TR-27")
async def test_hints_are_chosen_and_leave_alone_hours_later(private: tuple[Reader, Lookups]) -> None:
    """TR-27: Hints are sent only if the reader chose so, each alone, hours later, naming a post and no reader."""
    chromium, lookups = private
    sites = Sites()
    page = await chromium.open(posts.x())

    async def read(post: Post) -> str:
        """The number of an article that was read."""
        chromium.pages[post.url] = post.html
        await page.goto(post.url)
        tab = f"tab:{await chromium.tab(page)}"
        asked = "async (key) => { const { [key]: tab } = await chrome.storage.local.get(key); "
        asked += "return tab && tab.state.kind !== 'checking' ? `${tab.pageUrl} ${tab.externalId}` : '' }"

        async def name() -> str:
            return str(await chromium.chrome(asked, tab))

        known = await chromium.until(name, "it is looked up", lambda said: said.startswith(f"{post.url} "))
        return known.rpartition(" ")[2]

    async def queue() -> list[dict[str, Any]]:
        stored: list[dict[str, Any]] = await chromium.chrome(
            "async () => (await chrome.storage.local.get('hints')).hints ?? []"
        )
        return stored

    async def has_sent(number: int) -> bool:
        return sum(one.method == "POST" for one in lookups.received) >= number

    for _ in range(HINTED // 4):
        await read(posts.wikipedia(sites))
    assert await queue() == []
    options = await chromium.options()
    box = options.get_by_label(words("optionsHints"))
    assert not await box.is_checked(), "nobody helps who has not said so"
    await box.check()
    await chromium.until(lambda: chromium.chrome(CHOSEN), "the choice is stored")
    articles = {await read(posts.wikipedia(sites)) for _ in range(HINTED)}
    for _ in range(HINTED // 4):
        await read(posts.x())
    queued = await queue()
    assert 0 < len(queued) < HINTED / 2, "one view of eight"
    assert {hint["externalId"] for hint in queued} <= articles
    assert all(HOUR_MS <= hint["due"] - hint["seen"] <= 24 * HOUR_MS for hint in queued)
    assert {one.method for one in lookups.received} == {"GET"}, "nothing is told at once"

    names = [hint["externalId"] for hint in queued]
    for number in range(1, min(3, len(names)) + 1):
        before = await chromium.chrome(ALL_DUE)
        await chromium.until(partial(has_sent, number), "one is sent")
        left = await queue()
        assert [hint["externalId"] for hint in left] == names[number:]
        assert all(hint["due"] - before >= HOUR_MS for hint in left), "of those due at once only one is sent"
        hints = [one for one in lookups.received if one.method == "POST"]
        assert [json.loads(one.body) for one in hints] == [
            {"platform": "WIKIPEDIA", "externalId": each} for each in names[:number]
        ]
        await chromium.kill_worker()
    for hint in (one for one in lookups.received if one.method == "POST"):
        assert hint.path == "/trpc/post.hint"
        assert set(hint.headers) <= HEADERS | {"content-length", "content-type", "origin"}
        assert hint.headers["accept-language"] == "*"
        assert hint.headers["origin"] in ("null", f"chrome-extension://{chromium.id}"), (
            "as from all readers with Chrome"
        )
        assert hint.headers["content-type"] == "text/plain;charset=UTF-8"
        assert hint.headers["sec-fetch-site"] in ("none", "same-origin"), "so the server knows that no page sent it"
    assert "secret" not in repr(lookups.received)
    await chromium.chrome("() => chrome.storage.local.set({ hints: [{ due: 1 }] })")
    await box.uncheck()
    await chromium.until(queue, "nothing waits any more", lambda left: left == [])


@pytest.mark.requirement("TR-24")
async def test_details_need_no_request_and_the_public_page_is_said_to_name_the_post(
    private: tuple[Reader, Lookups],
) -> None:
    """TR-24: A private reader’s findings are shown with no further request."""
    chromium, lookups = private
    post = posts.x(BRAIN)
    lookups.posts = [known(post, BRAIN)]
    page = await chromium.open(post)
    await chromium.underlines(page, [BRAIN])
    before = len(lookups.received)
    x, y = await chromium.point(page, BRAIN)
    await page.mouse.click(x, y)
    frame = await chromium.frame(page)
    panel = frame.get_by_role("dialog")
    await panel.get_by_text(f"Not so: {BRAIN}").wait_for()
    await panel.get_by_text("Facts", exact=True).wait_for()
    await panel.get_by_text(words("pageNamesPost")).wait_for()
    assert words("pageReasoning") not in await panel.locator("h2").all_inner_texts()
    assert await panel.get_by_role("link", name=words("pagePublic")).get_attribute("href") == (
        f"{lookups.url}/investigations/{known(post).investigation}"
    )
    await chromium.shot(page, "private-panel")
    assert len(lookups.received) == before


async def test_of_two_findings_at_one_place_the_shorter_is_pointed_at(private: tuple[Reader, Lookups]) -> None:
    chromium, lookups = private
    post, part = posts.x(BRAIN), "10 percent of their brains."
    lookups.posts = [known(post, BRAIN, part)]
    page = await chromium.open(post)
    await chromium.underlines(page, [BRAIN, part])
    for sentence in (part, BRAIN):
        x, y = await chromium.point(page, sentence)
        await page.mouse.click(x, y)
        panel = (await chromium.frame(page)).get_by_role("dialog")
        await panel.get_by_text(f"Not so: {sentence}", exact=True).wait_for()
        await chromium.click(panel.get_by_role("button", name=words("pageClose")))


@pytest.mark.requirement("TR-34")
async def test_a_finding_that_is_taken_back_is_said_once(private: tuple[Reader, Lookups]) -> None:
    """TR-34: Who saw a finding that is taken back gets one notice."""
    chromium, lookups = private
    post = posts.x(BRAIN)
    lookups.posts = [known(post, BRAIN)]
    page = await chromium.open(post)
    await chromium.underlines(page, [BRAIN])
    await chromium.until(
        lambda: chromium.chrome("async () => (await chrome.storage.local.get('seen')).seen?.compared ?? 0"),
        "the day was compared",
    )
    lookups.taken_back[datetime.now(UTC).date().isoformat()] = {known(post).claim(0): "RETRACTED"}
    # Two days ago, and what was read then is not kept in memory any more.
    two_days = "async () => { const { seen } = await chrome.storage.local.get('seen'); seen.compared -= 1728e5;"
    await chromium.chrome(
        f"{two_days} await chrome.storage.local.set({{ seen }}); await chrome.storage.session.clear() }}"
    )
    await chromium.kill_worker()
    await page.reload()
    await chromium.says(page, words("noticeOne"))
    popup = await chromium.popup(page)
    await chromium.shot(popup, "private-notice")
    await popup.get_by_role("button", name=words("noticeDismiss")).click()
    await popup.get_by_text(words("noticeOne")).wait_for(state="hidden")
    days = [date.fromisoformat(one.path[-10:]) for one in lookups.received if "/retractions/" in one.path]
    assert min(days) == days[0] - timedelta(days=3), "the day before the last time too: its file may have grown since"


async def test_nothing_is_sent_before_the_reader_has_chosen(package: Path) -> None:
    with lookup_server() as lookups:
        async with reader(package) as new:
            await new.answer_yes("http://127.0.0.1/*")
            await new.allow("http://127.0.0.1/*")
            await new.settle(apiBaseUrl=lookups.url)
            page = await new.open(posts.x(BRAIN))
            await new.says(page, words("popupUnchosen"))
            options = await new.options()
            await options.get_by_label(words("modePrivate")).wait_for()
            assert [one.url for one in new.sent if one.by == "extension"] == []
            assert lookups.received == []
            await new.desk.get_by_label(words("modePrivate")).check()
            await new.until(lambda: new.state(page), "the open page is looked up", lambda kind: kind != "")
