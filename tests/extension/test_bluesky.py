"""Bluesky in a browser: nothing happens there until the reader switches it on; then a signed post is underlined."""

from __future__ import annotations

import json

import pytest
from playwright.async_api import expect

from tests.extension import posts
from tests.extension.chromium import Reader, words
from tests.extension.conftest import World
from tests.extension.posts import BRAIN

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.xdist_group("extension")]

HOST = "bsky.app"
PATTERN = f"https://{HOST}/*"
SCRIPTS = "async () => (await chrome.scripting.getRegisteredContentScripts()).map(({ matches }) => matches)"
IS_ALLOWED = "(origins) => chrome.permissions.contains({ origins })"


async def test_a_signed_post_is_underlined_once_the_reader_switches_the_site_on(chromium: Reader, world: World) -> None:
    signed = posts.bluesky(world.sites, BRAIN)
    assert await chromium.chrome(IS_ALLOWED, [PATTERN]) is False, "an installation does not ask for it"
    # The browser's own question cannot be clicked here, so it has been answered before it is asked.
    await chromium.allow(PATTERN)
    page = await chromium.open(signed)
    await chromium.says(page, words("popupSiteNotYet", "Bluesky"))
    assert [one for one in chromium.asked("post.registerObservedVersion") if HOST in one.body] == []

    options = await chromium.options()
    site = options.get_by_role("listitem").filter(has_text=words("optionsSiteNotYet", "Bluesky"))
    await site.get_by_role("button").click()
    await expect(options.get_by_text(words("optionsSiteAdded", HOST))).to_be_visible()
    await chromium.until(lambda: chromium.chrome(SCRIPTS), "a script is there", lambda scripts: scripts == [[PATTERN]])
    popup = await chromium.popup(page)
    await popup.get_by_role("button", name=words("popupInvestigateNow")).click()
    await chromium.underlines(page, [BRAIN])
    await popup.close()
    (sent,) = [one for one in chromium.asked("post.registerObservedVersion") if HOST in one.body]
    assert "No." not in sent.body
    async with world.member() as member:
        seen = await member.register(json.loads(sent.body))
    assert seen["provenance"] == "SERVER_VERIFIED"

    added = options.get_by_role("listitem").filter(has_text=words("optionsSiteAdded", HOST))
    await added.get_by_role("button").click()
    await expect(site).to_be_visible()
    await chromium.until(lambda: chromium.chrome(SCRIPTS), "no script is left there", lambda scripts: scripts == [])
    await chromium.until(
        lambda: chromium.chrome(IS_ALLOWED, [PATTERN]), "the permission was given back", lambda allowed: not allowed
    )
