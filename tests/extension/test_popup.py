"""What the popup says of a post in each of its states, and what a reader can do there.

Where a state passes by too fast to be seen, or only some servers tell it, the server's answer is written over.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.async_api import Page

from tests.extension import posts
from tests.extension.chromium import Reader, words
from tests.extension.conftest import World
from tests.extension.posts import BRAIN, WALL
from tests.extension.test_pages import investigated

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.xdist_group("extension")]

NOW, DETAILS = words("popupInvestigateNow"), words("popupViewDetails")
ID = "018f4b1e-0000-7000-8000-000000000001"


@contextmanager
def answering(chromium: Reader, **answers: object) -> Iterator[None]:
    """Have the server say this to these procedures of `post`."""
    chromium.answers.update({f"post.{name}": answer for name, answer in answers.items()})
    try:
        yield
    finally:
        chromium.answers.clear()


def claim(text: str, **also: object) -> dict[str, object]:
    """A claim as servers give it."""
    source = {"url": "https://facts.example/", "title": "Facts", "snippet": "Not so."}
    said = {"text": text, "context": text, "summary": f"Not so: {text}", "reasoning": "It is not so."}
    return {**said, "sources": [source], **also}


@pytest.mark.requirement("1.3-02", "2.5-03", "2.5-04")
async def test_a_post_that_nobody_has_checked(chromium: Reader, world: World) -> None:
    """1.3-02: Unchecked posts show nothing.
    2.5-03: Popup: not yet investigated + Investigate Now.
    2.5-04: Popup: "viewed by N users".
    """
    fresh = {"investigationState": "NOT_INVESTIGATED", "priorInvestigationResult": None}
    with answering(chromium, recordViewAndGetStatus={**fresh, "viewCount": 17}):
        page = await chromium.open(posts.x(BRAIN))
        popup = await chromium.popup(page)
        await popup.get_by_text(words("popupViewedByMany", 17)).wait_for()
    await popup.get_by_role("button", name=NOW).wait_for()
    assert await chromium.underlined(page) == ""
    assert await chromium.badge(page) == ""


@pytest.mark.requirement("2.5-02")
async def test_a_post_without_a_finding(chromium: Reader, world: World) -> None:
    """2.5-02: Popup: clean state."""
    clean = {"investigationState": "INVESTIGATED", "provenance": "CLIENT_FALLBACK", "claims": []}
    with answering(chromium, recordViewAndGetStatus=clean):
        page = await chromium.open(posts.x())
        popup = await chromium.popup(page)
        await popup.get_by_text(words("popupClean"), exact=True).wait_for()
    await chromium.shows(page, "✓")
    assert await chromium.underlined(page) == ""
    await chromium.shot(popup, "clean-popup")


@pytest.mark.requirement("2.5-05")
@pytest.mark.parametrize("told", [True, False])
async def test_a_server_that_does_not_tell_the_investigation_gets_no_link(
    told: bool, chromium: Reader, world: World
) -> None:
    """Older servers say what was found and not under which name: a link would lead nowhere.

    2.5-05: Popup: View Details button.
    """
    page_url = f"{world.url}/investigations/{ID}"
    known = {"investigationId": ID} if told else {}
    done = {"investigationState": "INVESTIGATED", "provenance": "CLIENT_FALLBACK", **known}
    with answering(chromium, recordViewAndGetStatus={**done, "claims": []}):
        clean = await chromium.popup(await chromium.open(posts.x()))
        await clean.get_by_text(words("popupClean"), exact=True).wait_for()
        assert await _links(clean) == ([page_url] if told else [])
    with answering(chromium, recordViewAndGetStatus={**done, "claims": [claim(BRAIN, id="one")]}):
        page = await chromium.open(posts.x(BRAIN))
        await chromium.underlines(page, [BRAIN])
        popup = await chromium.popup(page)
        await popup.get_by_text(words("popupFoundOne")).wait_for()
        assert await _links(popup) == ([page_url] if told else [])
        await popup.close()
        await page.bring_to_front()
        x, y = await chromium.point(page, BRAIN)
        await page.mouse.click(x, y)
        frame = await chromium.frame(page)
        await frame.get_by_role("dialog").wait_for()
        assert await frame.get_by_role("link", name=words("pagePublic")).count() == int(told)


async def _links(popup: Page) -> list[str]:
    found: list[str] = await popup.evaluate("[...document.links].map((link) => link.href)")
    return found


@pytest.mark.requirement("2.6-18", "2.6-20")
async def test_progress_while_a_run_is_slow(chromium: Reader, world: World) -> None:
    """2.6-18: The extension polls until the run ends.
    2.6-20: Results are kept in the browser.
    """
    page = await chromium.open(posts.x(BRAIN, WALL))
    popup = await chromium.popup(page)
    run = {"investigationId": ID, "provenance": "CLIENT_FALLBACK"}
    running: dict[str, object] = {
        **run,
        "investigationState": "INVESTIGATING",
        "status": "PROCESSING",
        "priorInvestigationResult": None,
        "pendingClaims": [],
        "confirmedClaims": [],
    }
    with answering(chromium, investigateNow={**run, "status": "PENDING"}, getInvestigation=running):
        await popup.get_by_role("button", name=NOW).click()
        await popup.get_by_text(words("popupProgressNone")).wait_for()
        await chromium.shows(page, "…")
        some = {**running, "pendingClaims": [claim(WALL)], "confirmedClaims": [claim(BRAIN)]}
        chromium.answers["post.getInvestigation"] = some
        await popup.get_by_text(words("popupProgress", 2, 1)).wait_for()
        await popup.get_by_text(f"Not so: {BRAIN}").wait_for()
        assert WALL not in await popup.inner_text("body"), "a candidate is counted, and not a word of it shown"
        await chromium.shows(page, "2")
        assert await chromium.underlined(page) == ""
        assert await chromium.state(page) == "investigating"
        await chromium.shot(popup, "progress-popup")
        chromium.answers["post.getInvestigation"] = {
            **run,
            "investigationState": "INVESTIGATED",
            "checkedAt": "2026-03-04T05:06:07.000Z",
            "claims": [claim(BRAIN, id="one")],
        }
        await popup.get_by_text(words("popupFoundOne")).wait_for()
        await chromium.underlines(page, [BRAIN])
        await chromium.shows(page, "1")


@pytest.mark.requirement("2.5-05", "1.3-04")
async def test_details_are_one_click_away(chromium: Reader, world: World) -> None:
    """2.5-05: Popup: View Details button.
    1.3-04: Link to the full public breakdown from the annotation.
    """
    page = await chromium.open(posts.x(BRAIN))
    popup = await chromium.popup(page)
    await popup.get_by_role("button", name=NOW).click()
    async with chromium.context.expect_page() as opened:
        await popup.get_by_role("link", name=DETAILS).click()
    public = await opened.value
    assert public.url.startswith(f"{world.url}/investigations/")


@pytest.mark.requirement("2.5-06")
async def test_highlights_are_hidden_and_shown(chromium: Reader, world: World) -> None:
    """2.5-06: Show highlights toggle."""
    page = await chromium.open(await investigated(world, BRAIN, WALL))
    await chromium.underlines(page, [BRAIN, WALL])
    popup = await chromium.popup(page)
    shown = popup.get_by_label(words("popupShowHighlights"))
    await shown.uncheck()
    await chromium.underlines(page, [])
    await popup.get_by_text(words("popupFoundMany", 2)).wait_for()
    await shown.check()
    await chromium.underlines(page, [BRAIN, WALL])


async def test_a_site_is_switched_off_and_on(chromium: Reader, world: World) -> None:
    page = await chromium.open(await investigated(world, BRAIN))
    await chromium.underlines(page, [BRAIN])
    popup = await chromium.popup(page)
    used = popup.get_by_label(words("popupUseOnSite", "wikipedia.org"))
    try:
        await used.uncheck()
        await chromium.underlines(page, [])
        await popup.get_by_text(words("popupSiteOff", "wikipedia.org")).wait_for()
        await chromium.shows(page, "")
        before = len(chromium.sent)
        other = await chromium.open(posts.wikipedia(world.sites, WALL))
        await chromium.says(other, words("popupSiteOff", "wikipedia.org"))
        assert [one.url for one in chromium.sent[before:] if one.by == "extension"] == []
    finally:
        await used.check()
    await chromium.underlines(page, [BRAIN])


@pytest.mark.requirement("2.6-19")
async def test_a_post_is_investigated_by_itself_for_who_pays_and_wants_that(chromium: Reader, world: World) -> None:
    """2.6-19: Automatic checks need key, switch and a page that was not investigated."""
    key = f"sk-{'a' * 40}"
    queued = {"investigationId": ID, "status": "PENDING", "provenance": "CLIENT_FALLBACK"}

    async def asked() -> int:
        return len(chromium.asked("post.investigateNow"))

    for auto, own, wanted in ((True, "", 0), (False, key, 0), (True, key, 1)):
        await chromium.settle(autoInvestigate=auto, openaiApiKey=own)
        due = await asked() + wanted
        with answering(chromium, investigateNow=queued):
            page = await chromium.open(posts.x(BRAIN))
            await chromium.says(page, words("popupInvestigating" if wanted else "popupNotInvestigated"))
            # The popup says so before the server is asked, which is answered here.
            await chromium.until(asked, "it is asked for", due.__le__)
        assert await asked() == due
    await chromium.settle(autoInvestigate=False, openaiApiKey="")


@pytest.mark.requirement("3.8-07")
async def test_a_message_of_another_version_is_refused_as_such(chromium: Reader, world: World) -> None:
    """3.8-07: Messages of another version are refused."""
    send = "(message) => chrome.runtime.sendMessage(message)"
    message = {"v": 1, "type": "GET_CACHED", "payload": {"tabId": 1}}
    assert (await chromium.chrome(send, message))["ok"] is True
    refused = await chromium.chrome(send, {**message, "v": 2})
    assert refused["ok"] is False
    assert "UNSUPPORTED_PROTOCOL_VERSION" in refused.values()
