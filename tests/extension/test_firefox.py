"""Firefox takes the same extension: installed, a finding is underlined there and shown on hover."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.extension import posts
from tests.extension.chromium import EXTENSION, keep, words
from tests.extension.conftest import KEY, World
from tests.extension.firefox import firefox
from tests.extension.posts import BRAIN, WALL
from tests.extension.test_pages import investigated
from tests.extension.test_private import ALLOWED, HEADERS, known
from tests.support.lookups import Received, lookup_server
from tests.support.system import until

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.xdist_group("extension-server")]

UNDERLINED = "[...CSS.highlights.values()].flatMap((one) => [...one].map(String)).join('')"
PLACE = """(() => { const { x, y, width, height } = [...[...CSS.highlights.values()][0]][0].getBoundingClientRect();
  return [x + width / 2, y + height / 2]; })()"""

HINT_DUE = """(async () => {
  const now = Date.now();
  const hints = [{ platform: 'WIKIPEDIA', externalId: 'en:736', seen: now, due: now }];
  await browser.storage.local.set({ hints });
  await browser.alarms.create('hint', { when: now });
})()"""


async def test_install_underline_and_hover(world: World, tmp_path: Path) -> None:
    package = EXTENSION / ".output" / "firefox-mv3"
    assert (package / "manifest.json").exists(), "build the extension first: cd extension && npm ci && npm run build"
    post = await investigated(world, BRAIN)
    async with firefox(package, tmp_path, {post.url: post.html}) as fox:
        welcome = await fox.welcome()
        await fox.evaluate(
            welcome, f"browser.storage.local.set({{ mode: 'full', apiBaseUrl: '{world.url}', apiKey: '{KEY}' }})"
        )
        tab = await fox.open(post.url)

        async def underlined() -> bool:
            return bool(await fox.evaluate(tab, UNDERLINED) == BRAIN)

        await until(underlined, "the finding is underlined", within_s=60)
        keep("firefox-1-underlined.png", await fox.shot(tab))
        await fox.point(tab, *await fox.evaluate(tab, PLACE))

        async def frame() -> str | None:
            tree = (await fox.do("browsingContext.getTree", root=tab))["contexts"]
            return next((one["context"] for one in tree[0]["children"] if "/frame.html" in one["url"]), None)

        shown = await until(frame, "the in-page frame opens", within_s=60)

        async def tooltip() -> bool:
            return words("pagePanelHeading") in await fox.evaluate(shown, "document.body?.innerText ?? ''")

        await until(tooltip, "the tooltip says what is wrong", within_s=60)
        keep("firefox-2-tooltip.png", await fox.shot(tab))


async def test_nothing_is_underlined_that_is_struck_out_or_no_longer_allowed(world: World, tmp_path: Path) -> None:
    post = await investigated(world, body=f"<p><s>{BRAIN}</s> All of it.</p><p>{WALL}</p>")
    async with firefox(EXTENSION / ".output" / "firefox-mv3", tmp_path, {post.url: post.html}) as fox:
        welcome = await fox.welcome()
        await fox.evaluate(
            welcome, f"browser.storage.local.set({{ mode: 'full', apiBaseUrl: '{world.url}', apiKey: '{KEY}' }})"
        )
        tab = await fox.open(post.url)

        async def underlined(words: str) -> bool:
            return bool(await fox.evaluate(tab, UNDERLINED) == words)

        await until(lambda: underlined(WALL), "what is not struck out is underlined", within_s=60)
        site = "{ origins: ['https://*.wikipedia.org/*'] }"
        assert await fox.evaluate(welcome, f"browser.permissions.remove({site})")
        await until(lambda: underlined(""), "the open page is left", within_s=60)


async def test_a_private_reader(tmp_path: Path) -> None:
    package = shutil.copytree(EXTENSION / ".output" / "firefox-mv3", tmp_path / "package")
    manifest = json.loads((package / "manifest.json").read_text())
    # What the reader would allow when choosing; a test cannot answer the browser's question.
    manifest["host_permissions"].append("http://127.0.0.1/*")
    (package / "manifest.json").write_text(json.dumps(manifest))
    post = posts.x(BRAIN)
    with lookup_server() as lookups:
        lookups.posts = [known(post, BRAIN)]
        async with firefox(package, tmp_path, {post.url: post.html}) as fox:
            welcome = await fox.welcome()
            chosen = f"{{ mode: 'private', sendHints: true, apiKey: 'secret', apiBaseUrl: '{lookups.url}' }}"
            await fox.evaluate(welcome, f"browser.storage.local.set({chosen})")
            tab = await fox.open(post.url)

            async def underlined() -> bool:
                return bool(await fox.evaluate(tab, UNDERLINED) == BRAIN)

            await until(underlined, "the finding is underlined", within_s=60)
            assert {one.method for one in lookups.received} == {"GET"}
            await fox.evaluate(welcome, HINT_DUE)

            async def hint() -> Received | None:
                return next((one for one in lookups.received if one.method == "POST"), None)

            hinted = await until(hint, "a hint is sent")
        assert hinted.path == "/trpc/post.hint"
        assert set(hinted.headers) <= HEADERS | {"content-length", "content-type", "origin"}
        assert hinted.headers["origin"] == "null", "Firefox would name its installation there"
        assert hinted.headers["content-type"] == "text/plain;charset=UTF-8"
        assert hinted.headers["sec-fetch-site"] in ("none", "same-origin"), "so the server knows that no page sent it"
        assert "secret" not in repr(hinted)
        lookups.received.remove(hinted)
        assert {name for one in lookups.received for name in one.headers} <= HEADERS
        assert [one.path for one in lookups.received[1:] if not ALLOWED.fullmatch(one.path)] == []
