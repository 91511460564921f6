"""The whole way on each site: from the first look at a post to the public page of its investigation."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.extension import posts
from tests.extension.chromium import OBSERVE, WITHIN_S, Reader, words
from tests.extension.conftest import World
from tests.extension.posts import BRAIN, WALL, Post
from tests.support.sites import Sites

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.xdist_group("extension")]

POSTS: dict[str, Callable[[Sites], Post]] = {
    "wikipedia": lambda sites: posts.wikipedia(sites, BRAIN, WALL),
    "lesswrong": lambda sites: posts.lesswrong(sites, BRAIN, WALL),
    "substack": lambda sites: posts.substack(sites, BRAIN, WALL),
    "x": lambda _: posts.x(BRAIN, WALL),
}


@pytest.mark.parametrize("site", POSTS)
@pytest.mark.requirement("1.3-01", "1.3-03", "1.3-04", "2.4.1-02", "2.5-01", "2.5-08", "2.6-01")
async def test_from_a_post_to_its_public_page(site: str, chromium: Reader, world: World) -> None:
    """1.3-01: Inline highlighting of incorrect claims only.
    1.3-03: Hover shows summary; details reachable.
    1.3-04: Link to the full public breakdown from the annotation.
    2.4.1-02: A quote that stands once is underlined.
    2.5-01: Popup: issues found list.
    2.5-08: Red underline, tooltip, details on click.
    2.6-01: A page load registers the version, then records the view.
    """
    page = await chromium.open(POSTS[site](world.sites))
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    await chromium.says(page, words("popupNotInvestigated"))
    before = await chromium.red(page, f"{site}-1-before")
    await page.evaluate(OBSERVE)

    popup = await chromium.popup(page)
    await popup.get_by_role("button", name=words("popupInvestigateNow")).click()
    await chromium.underlines(page, [BRAIN, WALL])
    await popup.get_by_text(words("popupFoundMany", 2)).wait_for()
    await chromium.shot(popup, f"{site}-popup")
    await popup.close()
    await chromium.shows(page, "2")
    assert await chromium.red(page, f"{site}-2-underlined") > before + 300
    assert await page.evaluate("seen") == [], "underlines change nothing on the page"

    await page.bring_to_front()
    await chromium.point(page, WALL)
    frame = await chromium.frame(page)
    await frame.get_by_role("button", name=words("pageDetails")).wait_for()
    assert "naked eye" in await frame.locator(".tooltip .summary").inner_text()
    await chromium.shot(page, f"{site}-3-tooltip")

    x, y = await chromium.point(page, WALL)
    await page.mouse.click(x, y)
    panel = frame.get_by_role("dialog")
    await panel.wait_for()
    assert await panel.locator("blockquote").inner_text() == WALL
    assert await panel.locator(".sources a").count() > 0
    assert words("pageProvenanceReaders" if site == "x" else "pageProvenanceServer") in await panel.inner_text()
    await chromium.shot(page, f"{site}-4-panel")

    async with chromium.context.expect_page(timeout=WITHIN_S * 1000) as opened:
        await chromium.click(panel.get_by_role("link", name=words("pagePublic")))
    public = await opened.value
    await public.wait_for_load_state()
    assert public.url.startswith(f"{world.url}/investigations/")
    await public.goto(f"{public.url}.json")
    assert WALL in await public.inner_text("body")

    assert await page.evaluate("seen") == [["childList", "HTML", ["DIV"], 0]], "one node under <html>, and nothing else"
    assert errors == []
