"""What tests of checks share: a reader's settings, a feed of posts, and the button beside one."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from playwright.async_api import Frame, Page

from tests.extension.chromium import WITHIN_S, Reader, reader
from tests.extension.loopback_model import LoopbackModel, loopback_model
from tests.extension.posts import Post
from tests.support.certificates import certificate_for
from tests.support.system import until

SEARCH: Final = "html.duckduckgo.com"
HANDLE: Final = "alice.example"
FEED: Final = "https://bsky.app/"
KEY: Final = "sk-canary"
LIGHT: Final = ("#ffffff", "#11141a")
DARK: Final = ("#101418", "#e6e8ee")
CHOSEN: Final = ("http://127.0.0.1/*", f"https://{SEARCH}/*", "https://bsky.app/*")
"""What such a reader's browser has been asked for."""


def settings(model: LoopbackModel, site: str, engine: str) -> dict[str, Any]:
    """What a reader has chosen, and agreed to."""
    search = SEARCH if engine == "duckduckgo" else "none"
    return {
        "sitesOff": [site],
        "verdictSites": [site],
        "verdictRoute": "other",
        "verdictBaseUrl": model.url,
        "verdictModel": "small",
        "verdictKey": KEY,
        "searchProvider": engine,
        "verdictConsent": f"1 {urlsplit(model.url).netloc} {search}",
    }


def hosts_in(log: Path) -> set[str]:
    """Every host that the browser sent a request to, from whichever of its parts."""
    events = json.loads(log.read_text())["events"]
    urls = [str(event.get("params", {}).get("url", "")) for event in events]
    return {urlsplit(url).netloc for url in urls if url.startswith(("http://", "https://"))}


def item(rkey: str, said: str, more: str = "") -> str:
    """A post of a feed, in the site's markup; `more` follows its words."""
    profile = f"/profile/{HANDLE}"
    return f"""<div data-testid="feedItem-by-{HANDLE}" role="link" tabindex="0" class="post">
      <div><a href="{profile}">Alice canary-name</a> <a href="{profile}/post/{rkey}">canary-time 3h</a></div>
      <div dir="auto" data-testid="postText" data-word-wrap="1" class="words">{said}</div>{more}
      <div><button>canary-count 12</button></div></div>"""


def page_of(posts: str, colours: tuple[str, str] = LIGHT) -> Post:
    """The site's page with these posts. `colours` are those of ground and letters."""
    ground, ink = colours
    style = f"""body{{margin:0 auto;max-width:600px;background:{ground};color:{ink};font:16px/1.4 system-ui}}
      .post{{padding:12px 16px;border-bottom:1px solid #8888}} .words{{white-space:pre-wrap}} a{{color:inherit}}
      #cut .words{{display:-webkit-box;-webkit-box-orient:vertical;-webkit-line-clamp:1;overflow:hidden}}"""
    head = f'<head><meta charset="utf-8"><link rel="icon" href="data:,"><style>{style}</style></head>'
    return Post(FEED, f"<!doctype html><html lang='en'>{head}<body>{posts}</body></html>")


def feed(colours: tuple[str, str] = LIGHT) -> Post:
    """A feed of three posts, the second shown in part."""
    cut = item("3cut", "A long post. " * 40)
    return page_of(
        item("3own", "The tower is 400 m tall.") + f"<div id='cut'>{cut}</div>" + item("3next", "Good morning."),
        colours,
    )


@asynccontextmanager
async def checking(
    package: Path, folder: Path, *flags: str, chosen: bool = True, headless: bool = True
) -> AsyncIterator[tuple[Reader, LoopbackModel]]:
    """A browser; unless not `chosen`, its reader has model and search on the loopback and switched Bluesky on."""
    tls, _ = certificate_for([SEARCH], folder)
    async with loopback_model(tls) as model:
        rules = f"MAP {SEARCH}:443 127.0.0.1:{model.search_port}, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
        every = ("--ignore-certificate-errors", f"--host-resolver-rules={rules}", *flags)
        async with reader(package, *every, headless=headless) as chromium:
            chromium.reachable.add(SEARCH)
            for pattern in CHOSEN if chosen else ():
                await chromium.allow(pattern)
            if chosen:
                await chromium.settle(**settings(model, "bsky.app", "duckduckgo"))
            yield chromium, model


async def switch(chromium: Reader, **settings: Any) -> None:
    """Change settings, and wait until the scripts of the extension run where these say."""
    await chromium.settle(**settings)
    wanted = bool(settings["verdictSites"] or settings.get("sitesAdded"))
    await chromium.until(lambda: chromium.chrome(SCRIPTS), "scripts follow", lambda found: bool(found) == wanted)


SCRIPTS: Final = "() => chrome.scripting.getRegisteredContentScripts()"


async def ready(chromium: Reader, post: Post) -> Page:
    """A page where the script of the extension runs."""
    page = await chromium.open(post)
    await chromium.own(page, "1")
    return page


async def point(page: Page, rkey: str) -> tuple[float, float]:
    """Point at a post; where the button beside it is."""
    box = await page.locator(f".post:has(a[href$='{rkey}'])").bounding_box()
    assert box is not None
    await page.bring_to_front()
    await page.mouse.move(box["x"] + 40, box["y"] + 20)
    await page.mouse.move(box["x"] + 60, box["y"] + 20)
    return box["x"] + box["width"] + 6 + 16, box["y"] + 6 + 16


async def press(chromium: Reader, page: Page, rkey: str) -> Frame:
    """Point at a post and press the button beside it; its card."""
    await page.mouse.click(*await pointed(chromium, page, rkey))
    return await chromium.frame(page)


async def pointed(chromium: Reader, page: Page, rkey: str) -> tuple[float, float]:
    """Point at a post until the button is shown beside it; where that is.

    A script that runs listens only once its worker has answered, and until then pointing brings no button.
    """

    async def place() -> tuple[float, float] | None:
        await page.mouse.move(1, 1)
        at = await point(page, rkey)
        return at if await page.evaluate(HAS_BUTTON, list(at)) else None

    return await until(place, "the button is shown", within_s=WITHIN_S)


async def put_away(chromium: Reader, page: Page, act: Coroutine[Any, Any, None]) -> None:
    """Do what puts the card away, and wait until it is gone.

    The browser need not acknowledge a key or click whose frame it has removed by then, so nobody waits for that.
    """

    async def frames() -> int:
        return len(page.frames)

    acting = asyncio.create_task(act)
    await chromium.until(frames, "the card is put away", lambda count: count == 1)
    acting.cancel()


HAS_BUTTON: Final = "([x, y]) => document.elementFromPoint(x, y)?.matches('html > div') === true"
"""Whether the extension's element is what the pointer meets there; it stands beside `body`."""
