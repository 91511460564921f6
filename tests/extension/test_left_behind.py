"""A page that was open while the extension was updated: its script can reach no worker any more, and goes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.extension import posts
from tests.extension.checking import HAS_BUTTON, checking, feed, pointed, ready
from tests.extension.chromium import PERMISSIONS, reader
from tests.extension.conftest import KEY, World
from tests.extension.long_page import answers_with
from tests.extension.posts import BRAIN
from tests.extension.test_reading import panel, place

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.xdist_group("extension")]

LEFT = "[[...CSS.highlights.keys()], document.documentElement.children.length]"


async def test_an_updated_extension_leaves_an_open_page_without_a_word(package: Path, world: World) -> None:
    async with reader(package) as running:
        await running.choose(world.url, KEY)
        running.answers |= answers_with([BRAIN])
        page = await running.open(posts.lesswrong(world.sites, BRAIN))
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error.stack)))
        await running.underlines(page, [BRAIN])
        manager = await running.context.new_page()
        await manager.goto(PERMISSIONS)
        at = await place(await panel(running, page, BRAIN))
        await page.mouse.move(at["x"] + at["width"] / 2, at["y"] + at["height"] / 2)
        await manager.evaluate("(id) => chrome.developerPrivate.reload(id, { failQuietly: true })", running.id)
        await page.mouse.move(5, 5)
        await page.keyboard.press("Tab")
        await page.keyboard.press("Tab")
        await page.set_viewport_size({"width": 500, "height": 400})
        await running.until(lambda: page.evaluate(LEFT), "nothing of it is left", lambda left: left == [[], 2])
        assert errors == []


async def test_a_button_that_an_update_left_behind_goes_when_it_is_pressed(package: Path, tmp_path: Path) -> None:
    async with checking(package, tmp_path) as (chromium, _):
        page = await ready(chromium, feed())
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error.stack)))
        manager = await chromium.context.new_page()
        await manager.goto(PERMISSIONS)
        place = await pointed(chromium, page, "3own")
        await manager.evaluate("(id) => chrome.developerPrivate.reload(id, { failQuietly: true })", chromium.id)
        await chromium.until(lambda: chromium.own(page, "chrome.runtime?.id === undefined"), "its script is cut off")
        await page.mouse.click(*place)
        assert not await page.evaluate(HAS_BUTTON, list(place))
        assert errors == []
