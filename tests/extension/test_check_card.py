"""The button beside a post and the card under it, in a real browser with a model on loopback."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest
from playwright.async_api import Frame, Page

from tests.extension.checking import (
    FEED,
    HANDLE,
    HAS_BUTTON,
    KEY,
    checking,
    feed,
    item,
    page_of,
    point,
    pointed,
    press,
    put_away,
    ready,
)
from tests.extension.chromium import OBSERVE, Reader, words
from tests.extension.loopback_model import SILENT
from tests.extension.posts import Post

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.xdist_group("extension-checks")]

REUSE: Final = """() => {
  const [post] = document.querySelectorAll('.post');
  globalThis.before = post.innerHTML;
  post.innerHTML = post.innerHTML.replaceAll('/post/3own', '/post/3other').replace('400 m', '500 m');
}"""
STORES: Final = """async () => ({
  local: await chrome.storage.local.get(null),
  elsewhere: [
    ...Object.keys(await chrome.storage.session.get(null)),
    ...Object.keys(await chrome.storage.sync.get(null)),
    ...Object.keys(localStorage),
    ...(await indexedDB.databases()),
    ...(await caches.keys()),
  ],
})"""


@pytest.mark.requirement("FS-1", "FS-2", "FS-33")
async def test_a_post_is_checked_where_it_stands(package: Path, tmp_path: Path) -> None:
    """FS-1: A check starts only from the post's own control, and the page gains one element.
    FS-2: Only the post's own words are sent.
    FS-33: A card names prompt, model and search.
    """
    async with checking(package, tmp_path) as (chromium, model):
        page = await ready(chromium, feed())
        await page.evaluate(OBSERVE)
        frame = await press(chromium, page, "3own")
        await frame.get_by_text(words("checkEstimate")).wait_for()
        seen = await page.evaluate("seen")
        assert seen == [["childList", "HTML", ["DIV"], 0]], "the page gains one element and nothing else changes"
        assert await frame.evaluate("document.activeElement?.id ?? ''") == "check-heading", "the focus is in the card"
        footer = await frame.locator("footer").inner_text()
        assert "Model: small" in footer
        assert "Search: DuckDuckGo" in footer
        assert model.asked[0]["messages"][1] == {"role": "user", "content": "The tower is 400 m tall."}
        assert "canary" not in json.dumps([model.asked, model.searched])
        await put_away(chromium, page, page.keyboard.press("Escape"))
        assert await page.evaluate("document.documentElement.children.length") <= 3


async def test_a_card_is_copied_where_the_page_denies_its_frames_the_clipboard(package: Path, tmp_path: Path) -> None:
    async with checking(package, tmp_path) as (chromium, _):
        chromium.headers["permissions-policy"] = "clipboard-write=(self)"
        page = await ready(chromium, feed())
        frame = await press(chromium, page, "3own")
        await chromium.click(frame.get_by_role("button", name=words("checkCopy")))
        await frame.get_by_text(words("checkCopied")).wait_for()
        await chromium.context.grant_permissions(["clipboard-read"])
        await chromium.desk.bring_to_front()
        copied: str = await chromium.chrome("() => navigator.clipboard.readText()")
        assert copied.startswith(words("verdictFalse"))
        assert copied.endswith(words("checkEstimate"))


@pytest.mark.requirement("FS-35", "FS-46")
async def test_keys_and_verdicts_stay_where_they_belong(package: Path, tmp_path: Path) -> None:
    """FS-35: Keys go into the headers to their own host and nowhere else.
    FS-46: Storage holds settings only.
    """
    async with checking(package, tmp_path) as (chromium, model):
        said: list[str] = []
        chromium.context.on("console", lambda message: said.append(message.text))
        chromium.worker.on("console", lambda message: said.append(message.text))
        await chromium.worker.evaluate("console.info('the worker is listened to')")
        before: dict[str, Any] = await chromium.chrome(STORES)
        page = await ready(chromium, feed())
        frame = await press(chromium, page, "3own")
        await frame.get_by_text(words("checkEstimate")).wait_for()
        assert await chromium.chrome(STORES) == before, "a check leaves nothing behind"
        assert before["elsewhere"] == []
        assert before["local"].pop("verdictKey") == KEY
        options = await chromium.options()
        async with options.expect_download() as saved:
            await options.get_by_role("button", name=words("optionsExport")).click()
        exported = (await (await saved.value).path()).read_text()
        places = [exported, json.dumps(before), await page.content(), await frame.content(), *said]
        places += [json.dumps([one.url, one.headers, one.body]) for one in chromium.sent if one.by == "page"]
        places += [json.dumps(one) for one in model.asked]
        assert json.loads(exported)["settings"]["verdictModel"] == "small"
        assert [one for one in places if KEY in one] == []
        assert "the worker is listened to" in said


@pytest.mark.requirement("FS-45")
async def test_what_cannot_be_read_is_not_sent(package: Path, tmp_path: Path) -> None:
    """FS-45: A post without a permalink, or with cut words, is not sent."""
    async with checking(package, tmp_path) as (chromium, model):
        for name, post, target, reason in unreadable():
            page = await ready(chromium, post)
            frame = await press(chromium, page, target)
            await frame.get_by_text(words(reason)).wait_for()
            assert words("failUnreadable") in await frame.locator("body").inner_text(), name
            await page.close()
        assert [model.asked, model.searched] == [[], []]


def unreadable() -> list[tuple[str, Post, str, str]]:
    """Pages with a post that cannot be read: name, page, the end of a link in the post, and what the card says."""
    link = f'<div><a href="/profile/{HANDLE}">Alice</a></div>'
    anchor = (
        f'<div data-testid="postThreadItem-by-{HANDLE}" class="post"><a href="/profile/{HANDLE}">Alice</a>'
        '<div dir="auto" data-word-wrap="1">The tower is 400 m tall.</div></div>'
    )
    later = '<div dir="auto" data-word-wrap="1" class="post">And it leans.<a href="#3later">.</a></div>'
    unlinked = (
        f'<div data-testid="feedItem-by-{HANDLE}" class="post">{link}<div data-testid="postText">It is.</div></div>'
    )
    thread = f"{FEED}profile/{HANDLE}/post/3own"
    second = '<div dir="auto" data-word-wrap="1">Der Turm ist 400 m hoch.</div>'
    return [
        ("reader view", Post(thread, page_of(anchor + later).html), "3later", "unreadableNoPermalink"),
        ("no permalink", page_of(unlinked), HANDLE, "unreadableNoPermalink"),
        ("cut words", feed(), "3cut", "unreadableCut"),
        ("the browser's translation", page_of(item("3own", "<font>Der Turm</font>")), "3own", "unreadableTranslated"),
        ("two texts", page_of(item("3own", "The tower is 400 m tall.", second)), "3own", "unreadableAmbiguous"),
        ("no words", page_of(item("3own", " ")), "3own", "unreadableNoWords"),
    ]


@pytest.mark.requirement("FS-45")
async def test_a_card_stays_with_its_post_when_the_page_reuses_the_element(package: Path, tmp_path: Path) -> None:
    """FS-45: A post without a permalink, or with cut words, is not sent."""
    async with checking(package, tmp_path) as (chromium, model):
        page = await ready(chromium, feed())
        frame = await press(chromium, page, "3own")
        await frame.get_by_text(words("checkEstimate")).wait_for()
        asked = len(model.asked)
        await page.evaluate(REUSE)
        await chromium.until(lambda: card_height(frame), "the card goes out of sight", lambda height: height <= 1)
        await page.evaluate("() => { document.querySelector('.post').innerHTML = before; }")
        await chromium.until(lambda: card_height(frame), "it is back", lambda height: height > 1)
        await put_away(chromium, page, page.keyboard.press("Escape"))
        place = await pointed(chromium, page, "3next")
        await page.evaluate("document.querySelectorAll('.post')[2].querySelectorAll('a')[1].removeAttribute('href')")
        await page.mouse.click(*place)
        frame = await chromium.frame(page)
        await frame.get_by_text(words("unreadableNoPermalink")).wait_for()
        assert len(model.asked) == asked


async def card_height(frame: Frame) -> float:
    """How high the box of the card is, in CSS pixels."""
    owner = await frame.frame_element()
    height: float = await owner.evaluate("(frame) => frame.parentElement.getBoundingClientRect().height")
    return height


async def test_the_button_and_card_by_pointer_keyboard_popup_and_screen_reader(package: Path, tmp_path: Path) -> None:
    """WCAG 1.4.13: Escape puts the button away until another post is pointed at."""
    async with checking(package, tmp_path) as (chromium, model):
        page = await ready(chromium, feed())
        place = list(await pointed(chromium, page, "3own"))
        assert ("button", words("checkButton")) in await spoken(chromium, page)
        await page.keyboard.press("Escape")
        assert not await page.evaluate(HAS_BUTTON, place)
        await point(page, "3own")
        assert not await page.evaluate(HAS_BUTTON, place), "not while the pointer stays at the same post"
        other = list(await point(page, "3next"))
        await chromium.until(lambda: page.evaluate(HAS_BUTTON, other), "another post has its button")

        await page.locator(".post").first.focus()
        popup = await chromium.popup(page)
        check = popup.get_by_role("button", name=words("popupCheck"))
        await check.wait_for()
        await popup.get_by_text(words("popupUnderlinesOff", "bsky.app")).wait_for()
        assert await chromium.violations(popup) == []
        await chromium.shot(popup, "check-popup")
        await page.bring_to_front()
        model.script(SILENT)
        async with popup.expect_event("close"):
            await check.click()
        frame = await chromium.frame(page)
        await frame.locator(".running").wait_for()
        await chromium.until(lambda: count(model.asked), "the model is asked")
        assert model.asked[0]["messages"][1]["content"] == "The tower is 400 m tall."
        assert ("Iframe", words("checkFrameTitle")) in await spoken(chromium, page)
        assert await frame.get_by_role("status").first.inner_text() == words("checkAsking")
        await page.keyboard.press("Escape")
        await frame.locator(".sentence").get_by_text(words("checkCancelled")).wait_for()
        await chromium.until(lambda: count(model.abandoned), "its request is given up")
        await put_away(chromium, page, page.keyboard.press("Escape"))
        assert await page.evaluate("document.activeElement.className") == "post", "the focus is back at the post"

        model.script(SILENT)
        await chromium.command(page, "check-post")
        await chromium.until(lambda: count(model.asked), "the command checks the post in view")
        assert model.asked[-1]["messages"][1]["content"] == "The tower is 400 m tall."


async def test_the_focus_goes_back_to_the_button_that_the_keyboard_pressed(package: Path, tmp_path: Path) -> None:
    async with checking(package, tmp_path) as (chromium, _):
        page = await ready(chromium, page_of(item("3own", "The tower is 400 m tall.")))
        place = await pointed(chromium, page, "3own")
        await page.mouse.move(1, 1)
        await chromium.until(
            lambda: page.evaluate(HAS_BUTTON, list(place)), "the button goes with the pointer", lambda shown: not shown
        )
        await page.keyboard.press("Tab")
        within = "document.activeElement.matches('html > div')"
        presses = [False, True, True, True, True]
        while not await page.evaluate(within):
            assert presses.pop(), "the keyboard reaches the button"
            await page.keyboard.press("Tab")
        for _ in range(2):
            await page.keyboard.press("Enter")
            frame = await chromium.frame(page)
            await frame.get_by_text(words("checkEstimate")).wait_for()
            await put_away(chromium, page, page.keyboard.press("Escape"))
            await chromium.until(lambda: page.evaluate(within), "the button has the focus again")
        await chromium.shot(page, "check-button-focused")


async def spoken(chromium: Reader, page: Page) -> list[tuple[str, str]]:
    """Role and name of everything on a page that a screen reader is told."""
    session = await chromium.context.new_cdp_session(page)
    nodes = (await session.send("Accessibility.getFullAXTree"))["nodes"]
    await session.detach()
    return [(one["role"]["value"], one.get("name", {}).get("value", "")) for one in nodes if not one["ignored"]]


async def count(of: list[Any] | int) -> int:
    """How many there are by now."""
    return of if isinstance(of, int) else len(of)
