"""A check of a post in real browsers: where it runs, which hosts it contacts, and that silence ends it."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Page

from tests.extension import posts
from tests.extension.checking import KEY, SEARCH, hosts_in, settings
from tests.extension.chromium import EXTENSION, Reader, reader
from tests.extension.firefox import firefox
from tests.extension.loopback_model import FOUND, QUERY, SILENT, loopback_model
from tests.support.certificates import certificate_for
from tests.support.system import until

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.xdist_group("extension-checks")]

SILENCE_S: Final = 90
START: Final = """(() => {
  globalThis.seen = [];
  globalThis.check = (globalThis.browser ?? chrome).runtime.connect({ name: 'check/1' });
  check.onMessage.addListener((message) => { if (message.at !== 'alive') seen.push(message); });
  globalThis.ended = new Promise((end) => check.onDisconnect.addListener(() => {
    seen.push({ at: 'closed' });
    end();
  }));
  check.postMessage({ type: 'START', words: 'The tower is 400 m tall.', permalink: 'https://x.com/a/status/1' });
})()"""


PROBE: Final = f"""{START};
setInterval(() => {{ document.documentElement.dataset.seen = JSON.stringify(seen); }}, 200);
"""
"""A script of the extension that starts a check as soon as the page is there, and shows what it gets."""
ASKING: Final = {"at": "asking", "request": 1, "last": False}
DOCUMENTS: Final = "async () => (await chrome.runtime.getContexts({ contextTypes: ['OFFSCREEN_DOCUMENT'] })).length"
BROWSERS_OWN: Final = (".google.com", ".googleapis.com")
"""What Chromium asks for by itself."""


async def ended(chromium: Reader, page: Page, within_s: float = 60) -> list[dict[str, Any]]:
    """All messages of a check, once its port is closed."""

    async with asyncio.timeout(within_s):
        seen: list[dict[str, Any]] = json.loads(await chromium.own(page, "ended.then(() => JSON.stringify(seen))"))
    return seen


@pytest.mark.requirement("FS-34", "FS-38")
async def test_a_check_contacts_its_model_and_its_search_and_no_other_host(package: Path, tmp_path: Path) -> None:
    """FS-34: No server of ours and no telemetry takes part.
    FS-38: A check contacts the chosen model and the chosen search, and no other host.
    """
    tls, _ = certificate_for([SEARCH], tmp_path)
    log = tmp_path / "network.json"
    async with loopback_model(tls) as model:
        flags = (
            "--ignore-certificate-errors",
            f"--log-net-log={log}",
            f"--host-resolver-rules=MAP {SEARCH}:443 127.0.0.1:{model.search_port}, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
        )
        async with reader(package, *flags) as chromium:
            await chromium.allow("http://127.0.0.1/*")
            await chromium.allow(f"https://{SEARCH}/*")
            await chromium.settle(**settings(model, "x.com", "duckduckgo"))
            page = await chromium.open(posts.x())
            await chromium.own(page, START)
            seen = await ended(chromium, page)
        assert [one["at"] for one in seen] == ["asking", "searching", "found", "asking", "done", "closed"]
        card = seen[-2]["card"]
        assert (card["verdict"], card["confidence"], card["engine"]) == ("False", 85, "duckduckgo")
        assert [source["url"] for source in card["sources"]] == [FOUND]
        assert model.searched == [QUERY]
        others = {host for host in hosts_in(log) if not host.endswith(BROWSERS_OWN)}
        assert others == {urlsplit(page.url).netloc, urlsplit(model.url).netloc, SEARCH}
        keyed = [head.split("\r\n", 1)[0] for head in model.headers if KEY in head]
        assert keyed == ["POST /v1/chat/completions HTTP/1.1"] * 2


@pytest.mark.requirement("FS-44")
async def test_a_tab_that_is_closed_gives_up_its_request(package: Path) -> None:
    """FS-44: A page that leaves cancels its check; one check a tab, three in all."""
    async with loopback_model() as model, reader(package) as chromium:
        model.script(SILENT)
        await chromium.allow("http://127.0.0.1/*")
        await chromium.settle(**settings(model, "x.com", "none"))
        page = await chromium.open(posts.x())
        await chromium.own(page, START)
        await until(lambda: count(model.asked), "the model is asked", within_s=60)
        assert await chromium.chrome(DOCUMENTS) == 1
        await page.close()

        async def given_up() -> bool:
            return model.abandoned == 1 and await chromium.chrome(DOCUMENTS) == 0

        await until(given_up, "the request is given up and its document closed", within_s=60)


@pytest.mark.xdist_group("silent-chromium")  # it waits for 90 s, and no other test should
@pytest.mark.requirement("FS-39")
async def test_a_silent_model_ends_in_chromium(package: Path) -> None:
    """FS-39: A model silent for 90 seconds ends in a failure that says so; nothing keeps running."""
    async with loopback_model() as model, reader(package) as chromium:
        model.script(SILENT)
        await chromium.allow("http://127.0.0.1/*")
        await chromium.settle(**settings(model, "x.com", "none"))
        page = await chromium.open(posts.x())
        await chromium.own(page, START)
        seen = await ended(chromium, page, SILENCE_S + 60)
        failure = {"code": "model_silent", "host": urlsplit(model.url).netloc}
        assert seen == [ASKING, {"at": "failed", "failure": failure}, {"at": "closed"}]
        await until(lambda: count(model.abandoned), "the request is given up", within_s=60)


@pytest.mark.xdist_group("silent-firefox")  # it waits for 90 s, and no other test should
@pytest.mark.requirement("FS-39")
async def test_a_silent_model_ends_in_firefox(tmp_path: Path) -> None:
    """FS-39: A model silent for 90 seconds ends in a failure that says so; nothing keeps running."""
    package = shutil.copytree(EXTENSION / ".output" / "firefox-mv3", tmp_path / "package")
    manifest = json.loads((package / "manifest.json").read_text())
    (package / "probe.js").write_text(PROBE)
    manifest["host_permissions"].append("http://127.0.0.1/*")
    script = {"matches": ["https://x.com/*"], "js": ["probe.js"], "run_at": "document_idle"}
    manifest["content_scripts"].append(script)
    (package / "manifest.json").write_text(json.dumps(manifest))
    post = posts.x()
    async with loopback_model() as model, firefox(package, tmp_path, {post.url: post.html}) as fox:
        model.script(SILENT)
        welcome = await fox.welcome()
        chosen = json.dumps(settings(model, "x.com", "none"))
        await fox.evaluate(welcome, f"browser.storage.local.set({chosen})")
        tab = await fox.open(post.url)

        async def messages() -> list[dict[str, Any]] | None:
            seen: list[dict[str, Any]] = json.loads(
                await fox.evaluate(tab, "document.documentElement.dataset.seen ?? '[]'")
            )
            return seen if seen and seen[-1]["at"] == "closed" else None

        seen = await until(messages, "the check ends", within_s=SILENCE_S + 60)
        failure = {"code": "model_silent", "host": urlsplit(model.url).netloc}
        assert seen == [ASKING, {"at": "failed", "failure": failure}, {"at": "closed"}]
        await until(lambda: count(model.abandoned), "the request is given up", within_s=60)


async def count(found: int | Sequence[object]) -> int:
    """How many there are by now."""
    return found if isinstance(found, int) else len(found)
