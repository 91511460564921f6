"""What the button costs on a long feed: the page's own work, with the extension and without."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import Final

import pytest
from playwright.async_api import CDPSession, Page

from tests.extension.checking import checking, item, page_of, ready, switch
from tests.extension.chromium import Reader

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.xdist_group("extension-checks")]

POSTS: Final = 500
ROUNDS: Final = 5
LIMIT: Final = 0.01
"""Of one core."""
SCROLLING: Final = """(rounds) => new Promise((done) => {
  let frames = 0;
  const step = () => {
    scrollBy({ top: frames < rounds / 2 ? 40 : 0, behavior: 'instant' });
    if (++frames === rounds) done(); else requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
})"""
"""Scroll for half of so many frames, and rest for the other half."""
FRAMES: Final = 180


async def test_a_feed_of_500_posts_costs_less_than_a_hundredth_of_a_core(package: Path, tmp_path: Path) -> None:
    post = page_of("".join(item(f"3post{number}", f"Post {number} says this.") for number in range(POSTS)))
    async with checking(package, tmp_path) as (chromium, _):
        pages: dict[bool, Page] = {}
        for with_button in (False, True):
            await switch(chromium, verdictSites=["bsky.app"] if with_button else [])
            pages[with_button] = await (ready if with_button else Reader.open)(chromium, post)
        costs: dict[bool, list[float]] = {False: [], True: []}
        for _round in range(ROUNDS):
            for with_button, page in pages.items():
                costs[with_button].append(await cost(chromium, page))
        more = median(costs[True]) - median(costs[False])
        print(f"of a core: {median(costs[False]):.4f} without, {median(costs[True]):.4f} with, {more:+.4f}")
        assert more < LIMIT, costs


async def cost(chromium: Reader, page: Page) -> float:
    """Time of the page's main thread for each second of scrolling and rest, the pointer over the posts."""
    await page.bring_to_front()
    await page.evaluate("scrollTo(0, 0)")
    session = await chromium.context.new_cdp_session(page)
    await session.send("Performance.enable", {"timeDomain": "threadTicks"})
    await page.mouse.move(400, 300)
    before = await metrics(session)
    await page.evaluate(SCROLLING, FRAMES)
    after = await metrics(session)
    await session.detach()
    return (after["TaskDuration"] - before["TaskDuration"]) / (after["Timestamp"] - before["Timestamp"])


async def metrics(session: CDPSession) -> dict[str, float]:
    """The browser's own counters, in seconds."""
    found = (await session.send("Performance.getMetrics"))["metrics"]
    return {one["name"]: one["value"] for one in found}
