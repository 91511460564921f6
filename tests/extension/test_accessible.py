"""axe-core finds nothing to object to in any document of the extension, and a keyboard reaches all of it."""

from __future__ import annotations

import pytest

from tests.extension import posts
from tests.extension.chromium import Reader, words
from tests.extension.conftest import World
from tests.extension.posts import BRAIN, WALL
from tests.extension.test_pages import investigated

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.xdist_group("extension")]


@pytest.mark.parametrize("name", ["popup.html", "options.html", "welcome.html"])
async def test_a_page_of_its_own(name: str, chromium: Reader) -> None:
    page = await chromium.context.new_page()
    for scheme in ("light", "dark"):
        await page.emulate_media(color_scheme=scheme)
        await page.goto(f"chrome-extension://{chromium.id}/{name}")
        await page.get_by_role("heading").first.wait_for()
        assert await chromium.violations(page) == []
        await chromium.shot(page, f"{name.partition('.')[0]}-{scheme}")


async def test_the_check_itself_can_fail(chromium: Reader) -> None:
    page = await chromium.context.new_page()
    await page.goto(f"chrome-extension://{chromium.id}/popup.html")
    await page.evaluate("document.body.append(document.createElement('input'))")
    assert [one for one in await chromium.violations(page) if "label" in one]


async def test_the_popup_of_a_post(chromium: Reader, world: World) -> None:
    waiting = await chromium.popup(await chromium.open(posts.x(BRAIN)))
    await waiting.get_by_role("button", name=words("popupInvestigateNow")).wait_for()
    assert await chromium.violations(waiting) == []
    found = await chromium.popup(await chromium.open(await investigated(world, BRAIN, WALL)))
    await found.get_by_text(words("popupFoundMany", 2)).wait_for()
    assert await chromium.violations(found) == []


@pytest.mark.parametrize("ground", ["#ffffff", "#101418"])
async def test_the_in_page_interface_by_keyboard_and_pointer(ground: str, chromium: Reader, world: World) -> None:
    post = await investigated(world, BRAIN, WALL)
    dark = posts.Post(post.url, post.html.replace("background:#fff", f"background:{ground}"))
    page = await chromium.open(dark)
    await chromium.underlines(page, [BRAIN, WALL])
    await page.bring_to_front()
    presses = [False, True, True, True]
    await page.keyboard.press("Tab")
    frame = await chromium.frame(page)
    await frame.locator("li").nth(1).wait_for(state="attached")
    focused = "document.activeElement?.id ?? ''"
    while "finding-" not in await frame.evaluate(focused):
        assert presses.pop(), "the keyboard reaches the list"
        await page.keyboard.press("Tab")
    await frame.get_by_role("listitem").nth(1).wait_for()
    assert await chromium.violations(frame) == []
    await chromium.shot(page, f"list-{ground[1:]}")

    await page.keyboard.press("Enter")
    await frame.get_by_role("dialog").wait_for()
    assert await chromium.violations(frame) == []
    await chromium.shot(page, f"panel-{ground[1:]}")
    await page.keyboard.press("Escape")
    await frame.get_by_role("dialog").wait_for(state="detached")

    await chromium.point(page, WALL)
    await frame.locator(".tooltip").wait_for()
    assert await chromium.violations(frame) == []
    await chromium.shot(page, f"tooltip-{ground[1:]}")
    await page.keyboard.press("Escape")
    await frame.locator(".tooltip").wait_for(state="detached")
