"""The worker dies, the server goes, the reader is offline, the extension is too old: all calm, and all passing."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.extension import posts
from tests.extension.chromium import Reader, reader, words
from tests.extension.conftest import KEY, World
from tests.extension.posts import BRAIN, FIVE

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.xdist_group("extension-server")]

WAITING = words("popupNotInvestigated")
NOW = words("popupInvestigateNow")


@pytest.mark.requirement("2.6-20")
async def test_a_worker_that_is_killed_during_a_run_goes_on_where_it_was(chromium: Reader, world: World) -> None:
    """2.6-20: Results are kept in the browser."""
    page = await chromium.open(posts.wikipedia(world.sites, *FIVE))
    # However long all of this takes, the worker does not hear of the run's end before it is dead.
    chromium.answers["post.getInvestigation"] = {
        "investigationState": "INVESTIGATING",
        "status": "PROCESSING",
        "provenance": "SERVER_VERIFIED",
        "priorInvestigationResult": None,
        "pendingClaims": [],
        "confirmedClaims": [],
    }
    try:
        popup = await chromium.popup(page)
        await popup.get_by_role("button", name=NOW).click()

        async def running() -> bool:
            return await chromium.state(page) == "investigating"

        await chromium.until(running, "the investigation runs")
        await chromium.until(
            lambda: chromium.chrome("async () => (await chrome.alarms.get('poll'))?.name ?? ''"),
            "the browser will wake it",
        )
        await popup.close()
        await chromium.kill_worker()
        await chromium.until(chromium.workers, "its worker is dead", lambda count: count == 0)
        assert await chromium.state(page) == "investigating"
    finally:
        chromium.answers.clear()
    await chromium.says(page, words("popupFoundMany", 5))
    await chromium.underlines(page, FIVE)
    await chromium.until(
        lambda: chromium.chrome("async () => !(await chrome.alarms.get('poll'))"), "nothing runs, so nothing wakes it"
    )


async def test_a_worker_that_is_killed_while_it_asks(chromium: Reader, world: World) -> None:
    post = posts.lesswrong(world.sites, BRAIN)
    page = await chromium.open(post)
    for _ in range(3):
        await chromium.kill_worker()
        await page.reload()
        await chromium.kill_worker()
    await chromium.says(page, WAITING)
    assert await chromium.state(page) == "not_investigated"


async def test_a_tab_that_is_taken_out_of_memory_is_asked_about_no_more(chromium: Reader, world: World) -> None:
    page = await chromium.open(posts.wikipedia(world.sites, BRAIN))
    await chromium.says(page, WAITING)
    tab = await chromium.tab(page)
    await chromium.desk.bring_to_front()
    assert await chromium.chrome("async (tab) => (await chrome.tabs.discard(tab)).discarded", tab)
    there = "async (key) => Object.keys(await chrome.storage.local.get(key))"
    await chromium.until(
        lambda: chromium.chrome(there, f"tab:{tab}"), "its status is deleted", lambda known: known == []
    )


async def test_a_server_that_goes_and_comes_back(chromium: Reader, world: World) -> None:
    other = await world.system.up("gateway", name="other")
    port = urlsplit(other.url).port
    assert port is not None
    await chromium.settle(apiBaseUrl=other.url)
    try:
        await other.kill()
        page = await chromium.open(posts.wikipedia(world.sites, BRAIN))
        await chromium.says(page, words("problemServerDown"))
        await chromium.shows(page, "!")
        await world.system.up("gateway", name="other", port=port)
        await chromium.says(page, WAITING)
        await chromium.shows(page, "")
    finally:
        await chromium.settle(apiBaseUrl=world.url)


async def test_a_reader_who_is_offline(chromium: Reader, world: World) -> None:
    page = await chromium.open(posts.wikipedia(world.sites, BRAIN))
    await chromium.says(page, WAITING)
    chromium.offline = True
    await chromium.context.set_offline(True)
    popup = await chromium.popup(page)
    await popup.get_by_role("button", name=NOW).click()
    await popup.get_by_text(words("problemOffline")).wait_for()
    await chromium.shows(page, "…")  # what was asked for is not forgotten
    chromium.offline = False
    await chromium.context.set_offline(False)
    await chromium.underlines(page, [BRAIN])


async def test_an_extension_that_is_too_old(package: Path, world: World, tmp_path: Path) -> None:
    old = shutil.copytree(package, tmp_path / "old")
    manifest = json.loads((old / "manifest.json").read_text())
    (old / "manifest.json").write_text(json.dumps({**manifest, "version": "0.0.1"}))
    async with reader(old) as outdated:
        await outdated.settle(mode="full", apiBaseUrl=world.url, apiKey=KEY)
        page = await outdated.open(posts.wikipedia(world.sites, BRAIN))
        await outdated.says(page, words("popupUpgrade"))
        await outdated.shows(page, "!")
        popup = await outdated.popup(page)
        await popup.get_by_text("this is version 0.0.1").wait_for()
        await outdated.shot(popup, "upgrade-popup")
        assert len(outdated.asked("post.registerObservedVersion")) == 1


@pytest.mark.requirement("2.5-07")
async def test_basic_and_advanced_settings_stand_apart(chromium: Reader) -> None:
    """Whoever only has a key of a provider need not read past the first group.

    2.5-07: Settings basic/advanced split.
    """
    options = await chromium.options()
    groups = {
        "optionsBasic": {"optionsOpenAiKey", "optionsAuto"},
        "optionsAdvanced": {"optionsServer", "optionsInstanceKey", "optionsSecret"},
    }
    assert await options.get_by_role("heading", level=2).all_inner_texts() == [
        words(key) for key in (*groups, "optionsChecks", "optionsSites", "optionsTransfer")
    ]
    for group, fields in groups.items():
        region = options.get_by_role("region", name=words(group), exact=True)
        assert await region.locator("input").count() == len(fields)
        for field in fields:
            assert await region.get_by_label(words(field), exact=True).count() == 1, f"{field} in {group}"


async def test_settings_against_right_and_wrong_servers(package: Path, world: World) -> None:
    async with reader(package) as new:
        options = await new.options()
        server = options.get_by_label(words("optionsServer"))
        key = options.get_by_label(words("optionsInstanceKey"), exact=True)
        save = options.get_by_role("button", name=words("optionsSave"), exact=True)
        for entered, said in (
            ("somewhere", words("addressNoUrl")),
            ("ftp://files.example", words("addressScheme")),
            ("http://news.example", words("addressPublicHttp")),
            ("https://me@news.example", words("addressExtras")),
        ):
            await server.fill(entered)
            await options.get_by_text(said).wait_for()
            await options.get_by_text(words("optionsNotSaved")).wait_for()
        await new.answer_yes("http://127.0.0.1/*")
        await server.fill("http://127.0.0.1:1")
        await key.fill(KEY)
        await options.get_by_text(words("testNoPermission", "127.0.0.1:1")).wait_for()
        await save.click()
        await options.get_by_text(words("testNoAnswer", "127.0.0.1:1")).wait_for()
        await new.shot(options, "options-wrong")

        await server.fill(world.sites.url)
        await options.get_by_text(words("testNotOpenErrata", urlsplit(world.sites.url).netloc)).wait_for()
        assert not [one for one in new.sent if KEY in (*one.headers.values(), one.body) and world.sites.url in one.url]
        await server.fill(world.url)
        await key.fill("oe_nobody")
        await save.click()
        await options.get_by_text(words("testInstanceKeyRefused")).wait_for()
        await key.fill(KEY)
        await save.click()
        await options.get_by_text(words("testInstanceKeyAccepted")).wait_for()
        await new.shot(options, "options-right")
        async with options.expect_download() as started:
            await options.get_by_role("button", name=words("optionsExport")).click()
        exported = await started.value
        assert _has(await exported.path(), world.url)
        assert not _has(await exported.path(), KEY)


@pytest.mark.requirement("2.2-07")
async def test_a_key_is_kept_in_this_browser_and_goes_nowhere_but_to_the_readers_server(
    package: Path, world: World
) -> None:
    """2.2-07: User key persisted only locally."""
    own = f"sk-{'b' * 40}"
    async with reader(package) as new:
        await new.choose(world.url, KEY)
        options = await new.options()
        await options.get_by_label(words("optionsOpenAiKey"), exact=True).fill(own)
        await options.get_by_role("button", name=words("optionsSave"), exact=True).click()
        await options.get_by_text(words("optionsSaved")).wait_for()
        kept = "async (area) => JSON.stringify(await chrome.storage[area].get(null))"
        for area in ("local", "sync", "session", "managed"):
            said = await new.chrome(kept, area)
            assert (own in said, KEY in said) == (area == "local", area == "local"), area
        elsewhere = "async () => [localStorage.length, sessionStorage.length, document.cookie,"
        elsewhere += " (await indexedDB.databases()).length, (await caches.keys()).length]"
        assert await new.chrome(elsewhere) == [0, 0, "", 0, 0]
        page = await new.open(posts.x(BRAIN))
        await new.says(page, WAITING)
        script = "async () => { try { return JSON.stringify(await chrome.storage.local.get(null)); }"
        seen = await new.own(page, f"({script} catch (error) {{ return String(error); }} }})()")
        assert own not in seen, "not even our own script in a page can read it"
        carried = {one.path for one in new.sent if own in (*one.headers.values(), one.body, one.url)}
        assert carried <= {"/trpc/post.validateSettings", "/trpc/post.investigateNow"}
        assert carried
        assert all(one.url.startswith(world.url) for one in new.sent if own in one.headers.values())


def _has(file: Path, text: str) -> bool:
    return text in file.read_text()
