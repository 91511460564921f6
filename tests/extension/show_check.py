"""Shows a check of a post without a key or a network: `python -m tests.extension.show_check [--once]`.

The model and the search are on the loopback and always say the same; page, button and card are those of a reader.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.extension.checking import checking, feed, press, ready
from tests.extension.chromium import ARTIFACTS, EXTENSION, words

PACKAGE = EXTENSION / ".output" / "chrome-mv3"


async def show(once: bool) -> None:
    """Open the page; press the button and keep a picture, or wait until the person at the browser closes the page."""
    with TemporaryDirectory() as folder:
        async with checking(PACKAGE, Path(folder), headless=once) as (chromium, model):
            page = await ready(chromium, feed())
            if not once:
                await page.bring_to_front()
                await page.wait_for_event("close", timeout=0)
                return
            frame = await press(chromium, page, "3own")
            await frame.get_by_text(words("checkEstimate")).wait_for()
            await chromium.shot(page, "check-shown")
            print(await frame.locator(".verdict").inner_text())
            print(f"{len(model.asked)} requests to the model, searched: {model.searched}")
            print(ARTIFACTS / "check-shown.png")


if __name__ == "__main__":
    asyncio.run(show("--once" in sys.argv[1:]))
