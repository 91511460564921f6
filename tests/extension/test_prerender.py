"""A page that the browser prepares before anybody wants it: nothing of it is sent until its reader comes.

Chromium prepares nothing for whoever drives it from outside. So the pages act by themselves, on the word of the server
that they come from under their true names, and all that is known of them is what that server was asked.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from tests.browser.chromium import FLAGS, executable
from tests.extension import posts
from tests.extension.chromium import WITHIN_S
from tests.extension.posts import BATS, BRAIN, WALL, Post
from tests.support.certificates import certificate_for
from tests.support.sites import Answer, Seen, Sites
from tests.support.system import until

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.xdist_group("extension-server")]

SITE = "https://en.wikipedia.org"
NAMES = ("en.wikipedia.org", "api.openerrata.com")
SHARED = {"access-control-allow-origin": "*", "access-control-allow-headers": "*"}
"""What the extension needs to be heard by a server that its reader has not allowed yet."""
OBEYS = """<script type="speculationrules">%s</script><script>
const obey = async () => {
  const said = await (await fetch('/word')).text();
  if (said === 'edit') document.querySelector('.mw-parser-output p').textContent = %s;
  if (said === 'go') location.href = %s;
  else setTimeout(obey, 100);
};
obey();
</script>"""
TELLS = """<script>
if (document.prerendering) addEventListener('load', () => fetch('/prepared'));
document.addEventListener('prerenderingchange', () => fetch('/activated'));
</script>"""
COVERED = """<!doctype html><title>Covered</title><script>
const go_on = () => { if (document.hidden) open(%s, '_blank', 'noopener'); };
addEventListener('visibilitychange', go_on, { once: true });
go_on();
</script>"""
"""Opens a page in front as soon as the extension's first-run page has come, which it does once: nothing is prepared for
a page behind another."""


def with_script(post: Post, script: str) -> Post:
    """The post, whose page does something besides."""
    return replace(post, html=post.html.replace("</body>", f"{script}</body>"))


def answered(package: Path, copy: Path) -> Path:
    """The package with a first-run page that answers its own question: nobody is there to do it."""
    shutil.copytree(package, copy)
    (copy / "answer.js").write_text("chrome.storage.local.set({ mode: 'full' });")
    page = copy / "welcome.html"
    page.write_text(page.read_text().replace("</body>", '<script src="/answer.js"></script></body>'))
    return copy


@asynccontextmanager
async def left_alone(package: Path, profile: Path, port: int, url: str) -> AsyncIterator[None]:
    """A browser with the extension that opens a page and is not driven."""
    names = ", ".join(f"MAP {name} 127.0.0.1:{port}" for name in NAMES)
    process = await asyncio.create_subprocess_exec(
        executable(),
        "--headless=new",
        *(["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []),
        *FLAGS,
        "--disable-popup-blocking",
        "--ignore-certificate-errors",
        f"--user-data-dir={profile}",
        f"--disable-extensions-except={package}",
        f"--load-extension={package}",
        f"--host-resolver-rules={names}, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
        url,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        yield
    finally:
        process.terminate()
        await process.wait()


async def test_nothing_of_a_prepared_page_is_sent_until_its_reader_comes(package: Path, tmp_path: Path) -> None:
    certificate, _ = certificate_for(NAMES, tmp_path)
    word = ""
    async with Sites(tls=certificate) as sites:
        prepared = with_script(posts.wikipedia(sites, WALL), TELLS)
        rules = json.dumps({"prerender": [{"urls": [prepared.url], "eagerness": "immediate"}]})
        script = OBEYS % (rules, json.dumps(BATS), json.dumps(prepared.url))
        here = with_script(posts.wikipedia(sites, BRAIN), script)
        covered = Post(f"{SITE}/wiki/Covered", COVERED % json.dumps(here.url))
        for post in (covered, here, prepared):
            html = Answer(200, {"content-type": "text/html; charset=utf-8"}, post.html.encode())
            sites.pages[post.url.removeprefix(SITE)] = html
        sites.pages["/word"] = lambda _: Answer(200, {}, word.encode())
        sites.pages["/trpc/post.registerObservedVersion"] = Answer(200, SHARED)
        for path in ("/prepared", "/activated"):
            sites.pages[path] = Answer()

        def told(one: Seen, words: str) -> bool:
            return one.path.startswith("/trpc/") and words.encode() in one.body

        async def asked(path: str) -> bool:
            return any(one.path == path for one in sites.requests)

        async def sent(words: str) -> bool:
            return any(told(one, words) for one in sites.requests)

        answering = answered(package, tmp_path / "package")
        async with left_alone(answering, tmp_path / "profile", sites.port, f"{SITE}/wiki/Covered"):
            await until(lambda: sent(BRAIN), "the page in sight is sent", within_s=WITHIN_S)
            await until(lambda: asked("/prepared"), "the other is prepared", within_s=WITHIN_S)
            word = "edit"
            await until(lambda: sent(BATS), "a later change of the page in sight is sent", within_s=WITHIN_S)
            assert not await sent(prepared.url)
            word = "go"
            await until(lambda: asked("/activated"), "the reader comes to what was prepared", within_s=WITHIN_S)
            await until(lambda: sent(prepared.url), "the prepared page is sent", within_s=WITHIN_S)
