"""A headless Chromium that applies rules.js to many inputs at a time.

It runs on an event loop in a thread of its own: Playwright keeps the loop it is called on, and the tests of a worker
need theirs. Inputs and answers travel as ASCII JSON, so that lone surrogates arrive as they were sent.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import threading
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import AsyncExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, Final, Literal, TypeVar, get_args

from playwright.async_api import Page, async_playwright, expect

Rule = Literal["htmlText", "pageImages", "articleText", "normalized", "assigned"]

RULES: Final = Path(__file__).with_name("rules.js")
NAMES: Final = ("chromium", "chromium-browser", "google-chrome")
# Without the first two, pages that suggest addresses, a window starts for 1.0 s of CPU instead of 1.7. Chromium obeys
# the last such list alone, so those that Playwright names are repeated.
WITHOUT: Final = (
    "WebUIOmniboxPopup",
    "WebUIOmniboxAimPopup",
    "AimEnabled",
    "AvoidCorsURLLoaderRestartOnRedirect",
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose",
    "HttpsFirstBalancedModeAutoEnable",
    "HttpsUpgrades",
    "LensOverlay",
    "MediaRouter",
    "NetworkTimeServiceQuerying",
    "OptimizationHints",
    "PaintHolding",
    "PreconnectToSearch",
    "ThirdPartyStoragePartitioning",
)
FLAGS: Final = (
    f"--disable-features={','.join(WITHOUT)}",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-gpu",
    "--disable-quic",
    "--disable-sync",
    "--no-first-run",
)
# Generated pages load nothing and run nothing; the rules themselves are evaluated.
PAGE: Final = """<!doctype html><meta http-equiv="Content-Security-Policy"
content="default-src 'none'; script-src 'unsafe-eval'"><title>rules</title>"""
APPLY: Final = "([rule, inputs]) => JSON.stringify(JSON.parse(inputs).map((input) => rules[rule](input)))"
START_WITHIN_S: Final = 60.0
ANSWER_WITHIN_S: Final = 60.0

expect.set_options(timeout=1000 * ANSWER_WITHIN_S)

T = TypeVar("T")


class Browser:
    """A page in which the rules are loaded."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._open = AsyncExitStack()
        self._page = self._run(self._start(), START_WITHIN_S)

    def apply(self, rule: Rule, inputs: Sequence[Any]) -> list[Any]:
        """What the browser makes of each input; all go in one round trip."""
        answers: list[Any] = json.loads(self._run(self._page.evaluate(APPLY, [rule, json.dumps(inputs)])))
        return answers

    def close(self) -> None:
        """End the browser."""
        self._run(self._open.aclose())

    def _run(self, work: Coroutine[Any, Any, T], within_s: float = ANSWER_WITHIN_S) -> T:
        return asyncio.run_coroutine_threadsafe(asyncio.wait_for(work, within_s), self._loop).result()

    async def _start(self) -> Page:
        playwright = await self._open.enter_async_context(async_playwright())
        as_root = hasattr(os, "geteuid") and os.geteuid() == 0
        chromium = await playwright.chromium.launch(
            executable_path=executable(), args=FLAGS, chromium_sandbox=not as_root
        )
        self._open.push_async_callback(chromium.close)
        page = await chromium.new_page(offline=True)
        await page.set_content(PAGE)
        await page.evaluate(f"() => {{ {RULES.read_text()}; globalThis.rules = {{ {', '.join(get_args(Rule))} }}; }}")
        return page


def executable() -> str:
    """The Chromium to drive: the one that CHROMIUM names, else an installed one."""
    given = os.environ.get("CHROMIUM")
    found = next(filter(None, map(shutil.which, [given] if given else NAMES)), None)
    assert found, "these tests need Chromium: install the package chromium, or set CHROMIUM to one"
    return found


@contextmanager
def browser() -> Iterator[Browser]:
    """A browser that ends with the block."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="chromium", daemon=True)
    thread.start()
    try:
        with closing(Browser(loop)) as running:
            yield running
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
