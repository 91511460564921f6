"""A publication of Substack under its own domain: nothing happens there until the reader says so, once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.extension import posts
from tests.extension.chromium import Reader, words
from tests.extension.conftest import World
from tests.extension.posts import BRAIN, WALL, Post

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.xdist_group("extension")]

DOMAIN = "notes.walks.example"
MARK = '<link rel="preconnect" href="https://substackcdn.com">'


def own(world: World, *sentences: str, head: str = MARK) -> Post:
    """A post of such a publication."""
    post = posts.substack(world.sites, *sentences, head=head)
    return replace(post, url=post.url.replace("walks.substack.com", DOMAIN))


@pytest.mark.requirement("2.1-03", "2.2-02", "3.9-07")
async def test_a_domain_is_used_from_the_readers_word_until_the_permission_ends(chromium: Reader, world: World) -> None:
    # The browser's own question cannot be clicked here, so it has been answered before it is asked.
    """2.1-03: Substack posts supported, on domains of their own too.
    2.2-02: Sites are recognised by address first, then by the page.
    3.9-07: A publication's own domain is read once its page shows Substack's marks.
    """
    await chromium.allow(f"https://{DOMAIN}/*")
    before = len(chromium.sent)
    page = await chromium.open(own(world, BRAIN))
    popup = await chromium.popup(page)
    use = popup.get_by_role("button", name=words("popupUseHere", DOMAIN))
    await use.wait_for()
    assert [one.url for one in chromium.sent[before:] if one.by == "extension"] == [], "allowed is not yet wanted"
    await chromium.shot(popup, "own-domain-popup")
    await use.click()
    await popup.get_by_role("button", name=words("popupInvestigateNow")).click()
    await chromium.underlines(page, [BRAIN])
    await popup.close()

    second = await chromium.open(own(world, WALL))
    await chromium.says(second, words("popupNotInvestigated"))
    plain = await chromium.open(replace(own(world, BRAIN), url=f"https://{DOMAIN}/about"))
    await chromium.says(plain, words("popupUnsupported"))

    assert await chromium.chrome("(origins) => chrome.permissions.remove({ origins })", [f"https://{DOMAIN}/*"])
    scripts = "async () => (await chrome.scripting.getRegisteredContentScripts()).length"
    await chromium.until(lambda: chromium.chrome(scripts), "no script is left there", lambda count: count == 0)
    await chromium.underlines(page, [])
    fourth = own(world, WALL)
    await page.evaluate("(url) => history.pushState({}, '', url)", fourth.url)
    await page.evaluate("(html) => { document.documentElement.innerHTML = html; }", fourth.html)
    third = await chromium.open(own(world, WALL))
    await third.wait_for_load_state()
    await chromium.says(await chromium.open(posts.x(BRAIN)), words("popupNotInvestigated"))
    asked = [one.body for one in chromium.asked("post.registerObservedVersion")]
    assert [body for body in asked if third.url in body or fourth.url in body] == []


async def test_a_page_that_shows_no_mark_of_substack_is_not_offered(chromium: Reader, world: World) -> None:
    await chromium.allow("https://other.example/*")
    post = own(world, BRAIN, head="")
    html = post.html.replace("post_preview", "post_picture")
    page = await chromium.open(Post(post.url.replace(DOMAIN, "other.example"), html))
    await chromium.says(page, words("popupUnsupported"))
