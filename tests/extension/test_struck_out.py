"""Words that their author struck out are taken back, and nothing is underlined in them."""

from __future__ import annotations

import pytest

from tests.extension import posts
from tests.extension.chromium import Reader, words
from tests.extension.conftest import World
from tests.extension.long_page import answers_with
from tests.extension.posts import BATS, BRAIN, GOLDFISH, WALL

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.xdist_group("extension")]


async def test_what_an_author_struck_out_is_not_underlined(chromium: Reader, world: World) -> None:
    taken_back = f"<p><s>{BRAIN}</s> All of it.</p><p>{WALL.replace('visible', '<del>visible</del> hidden')}</p>"
    post = posts.lesswrong(world.sites, body=f"{taken_back}<p>{GOLDFISH}</p><p id='next'>{BATS}</p>")
    chromium.answers |= answers_with([BRAIN, WALL, GOLDFISH, BATS])
    try:
        page = await chromium.open(post)
        await chromium.underlines(page, [GOLDFISH, BATS])
        await chromium.says(page, words("popupClaimMissing"))
        assert BRAIN in chromium.asked("post.registerObservedVersion")[-1].body, "the server is sent what is written"
        await page.evaluate("() => { next.innerHTML = `<strike>${next.innerHTML}</strike>`; }")
        await chromium.underlines(page, [GOLDFISH])
        await page.evaluate("() => { next.innerHTML = next.textContent; }")
        await chromium.underlines(page, [GOLDFISH, BATS])
    finally:
        chromium.answers.clear()
