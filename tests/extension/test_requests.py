"""Every request that leaves the browser is in the list that readers are given, and the list names no other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.extension import posts
from tests.extension.chromium import EXTENSION, reader, words
from tests.extension.conftest import KEY, World
from tests.extension.posts import BRAIN
from tests.support.lookups import Lookups, lookup_server

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.xdist_group("extension-server")]

DEFAULT = "https://api.openerrata.com"
DUE_HINT = """async () => {
  const now = Date.now();
  const hint = { platform: 'WIKIPEDIA', externalId: 'en:1', seen: now, due: now };
  await chrome.storage.local.set({ hints: [hint] });
  await chrome.alarms.create('hint', { when: now });
}"""
LISTED = re.compile(r"`(GET|POST) (/[\w./<>]+)`")
NAMES = {
    r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}": "<id>",
    r"/b6/[0-9a-f]{2}$": "/<layout>/<bucket>",
    r"\d{4}-\d\d-\d\d$": "<day>",
}


def listed() -> set[tuple[str, str]]:
    """What the privacy text says."""
    text = (EXTENSION / "PRIVACY.md").read_text()
    found = set(LISTED.findall(text))
    assert len(found) > 4
    return found


def generic(path: str) -> str:
    """An address with what differs left out."""
    for name, stands_for in NAMES.items():
        path = re.sub(name, stands_for, path)
    return path


async def days(lookups: Lookups) -> list[str]:
    """The files of days that were asked for."""
    return [one.path for one in lookups.received if "/retractions/" in one.path]


async def hints(lookups: Lookups) -> list[str]:
    """The posts that were named."""
    return [one.path for one in lookups.received if one.method == "POST"]


async def test_all_that_is_sent_is_listed_and_all_that_is_listed_is_sent(package: Path, world: World) -> None:
    with lookup_server() as lookups:
        async with reader(package) as new:
            await new.choose(world.url, KEY)
            page = await new.open(posts.wikipedia(world.sites, BRAIN))
            popup = await new.popup(page)
            await popup.get_by_role("button", name=words("popupInvestigateNow")).click()
            await new.underlines(page, [BRAIN])
            await page.bring_to_front()
            await new.point(page, BRAIN)
            frame = await new.frame(page)
            await new.click(frame.get_by_role("button", name=words("pageDetails")))
            await frame.get_by_role("dialog").wait_for()
            await page.close()
            await new.settle(mode="private", apiBaseUrl=lookups.url, sendHints=True)
            page = await new.open(posts.x(BRAIN))
            await new.says(page, words("popupNotFound"))
            await new.until(lambda: days(lookups), "what was taken back is read")
            await new.chrome(DUE_HINT)
            await new.until(lambda: hints(lookups), "the post is named to the server")
            sent = [one for one in new.sent if one.url.split("#")[0] not in new.pages]
            assert {(one.method, generic(one.path)) for one in sent} == listed()
            assert {one.by for one in sent} == {"extension"}
            for one in sent:
                by_default = one.method == "GET" and one.url == f"{DEFAULT}/health"  # before the reader chose ours
                assert one.url.startswith((world.url, lookups.url)) or by_default, "nobody else is asked anything"
                assert "cookie" not in one.headers
                assert "referer" not in one.headers
                assert one.headers.get("x-openai-api-key") is None
