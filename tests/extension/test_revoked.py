"""A reader who takes the permission for a site back is rid of the extension there, in the pages that are open too."""

from __future__ import annotations

from typing import Final

import pytest

from tests.extension import posts
from tests.extension.chromium import PERMISSIONS, Reader
from tests.extension.conftest import World
from tests.extension.long_page import answers_with
from tests.extension.posts import BRAIN

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.xdist_group("extension")]

ACCESS: Final = (
    "([extensionId, hostAccess]) => chrome.developerPrivate.updateExtensionConfiguration({ extensionId, hostAccess })"
)


async def access(chromium: Reader, mode: str) -> None:
    """Choose where the extension may run, as on the browser's own page about it."""
    manager = await chromium.context.new_page()
    await manager.goto(PERMISSIONS)
    await manager.evaluate(ACCESS, [chromium.id, mode])
    await manager.close()


async def test_open_and_kept_pages_are_left_at_once(chromium: Reader, world: World) -> None:
    chromium.answers |= answers_with([BRAIN])
    try:
        open_one = await chromium.open(posts.lesswrong(world.sites, BRAIN))
        kept = await chromium.open(posts.lesswrong(world.sites, BRAIN))
        for page in (open_one, kept):
            await chromium.underlines(page, [BRAIN])
        await kept.evaluate("() => addEventListener('pageshow', ({ persisted }) => { globalThis.kept = persisted; })")
        url = kept.url
        chromium.pages["https://plain.example/"] = "<!doctype html><p>Nothing of ours is here."
        await kept.goto("https://plain.example/")
        await access(chromium, "ON_CLICK")
        try:
            await chromium.underlines(open_one, [])
            await kept.evaluate("() => { setTimeout(() => history.back()); }")
            await kept.wait_for_url(url, wait_until="commit")
            await chromium.until(lambda: kept.evaluate("() => globalThis.kept"), "the page is the one that was left")
            await chromium.underlines(kept, [])
        finally:
            await access(chromium, "ON_ALL_SITES")
        for page in (open_one, kept):
            await chromium.underlines(page, [BRAIN])
    finally:
        chromium.answers.clear()
