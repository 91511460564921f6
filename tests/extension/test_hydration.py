"""React, when it takes over a page that it rendered on its server, finds nothing of ours in it to complain of."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass

import pytest
from playwright.async_api import Page

from tests.extension.chromium import EXTENSION, Reader, words
from tests.extension.conftest import World
from tests.extension.posts import BRAIN, FILLER, Post, number

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.xdist_group("extension")]


@dataclass(frozen=True)
class Rendered:
    """A page made by React's server side, and what its browser side needs."""

    post: Post
    properties: dict[str, object]
    script: str

    async def hydrate(self, page: Page) -> None:
        """Take the page over; the script comes without an element of its own."""
        await page.evaluate(self.script)
        await page.evaluate("(properties) => hydrate(properties)", self.properties)


def rendered(world: World) -> Rendered:
    id_ = f"walk{number():013}"
    paragraphs = ["The morning began in the library.", f"{FILLER} {BRAIN}", f"Then it rained. Note {number()}."]
    properties: dict[str, object] = {"id": id_, "title": "A walk", "paragraphs": paragraphs}
    done = subprocess.run(
        ["node", "tests/hydration/build.mjs", json.dumps(properties)],
        cwd=EXTENSION,
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    made = json.loads(done.stdout)
    world.sites.lesswrong[id_] = "".join(f"<p>{one}</p>" for one in paragraphs)
    return Rendered(
        Post(f"https://www.lesswrong.com/posts/{id_}/a-walk", made["html"], (BRAIN,)), properties, made["script"]
    )


@pytest.mark.requirement("3.9-02")
async def test_react_takes_over_a_page_with_underlines_and_the_open_interface(chromium: Reader, world: World) -> None:
    """3.9-02: LessWrong React re-render re-applies marks."""
    react = rendered(world)
    page = await chromium.open(react.post)
    console: list[str] = []
    page.on("console", lambda said: console.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: console.append(str(error)))
    popup = await chromium.popup(page)
    await popup.get_by_role("button", name=words("popupInvestigateNow")).click()
    await chromium.underlines(page, [BRAIN])
    await popup.close()
    await page.bring_to_front()
    await chromium.point(page, BRAIN)
    frame = await chromium.frame(page)
    await frame.locator(".tooltip").wait_for()

    await page.evaluate("globalThis.before = document.getElementById('postContent')")
    await react.hydrate(page)
    claps = page.get_by_role("button", name="Claps: 0")
    await claps.click()
    await page.get_by_role("button", name="Claps: 1").wait_for()
    assert await page.evaluate("before === document.getElementById('postContent')") is False, "rendered anew"
    await chromium.underlines(page, [BRAIN])
    await chromium.point(page, BRAIN)
    await frame.locator(".tooltip").wait_for()
    assert await page.evaluate("complaints") == []
    assert console == []


async def test_react_would_have_complained(chromium: Reader, world: World) -> None:
    react = rendered(world)
    page = await chromium.open(react.post)
    await page.evaluate("document.querySelector('#postContent').prepend(document.createElement('mark'))")
    await react.hydrate(page)
    await page.wait_for_function("complaints.length > 0")
