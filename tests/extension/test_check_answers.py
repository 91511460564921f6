"""Every known answer of a model ends in a card or in a clear sentence; each browser is started once for all of them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import pytest

from tests.extension.answers import ANSWERS, HOST, MOST_REQUESTS, Case
from tests.extension.checking import checking, feed, press, ready, settings
from tests.extension.chromium import EXTENSION, keep, words
from tests.extension.firefox import Firefox, firefox
from tests.extension.loopback_model import LoopbackModel, loopback_model
from tests.support.system import until

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.xdist_group("extension-checks")]

AGAIN: Final = f"""const again = [...document.querySelectorAll('.actions button')]
  .find((one) => one.innerText === {json.dumps(words("checkAgain"))});"""
PRESS_AGAIN: Final = f"() => {{ {AGAIN} globalThis.pressed = again; again.click(); }}"
SHOWN: Final = f"() => {{ {AGAIN} return again && again !== globalThis.pressed ? document.body.innerText : null; }}"
"""What a card says that has ended since the last press."""


async def show_all(model: LoopbackModel, ask: Callable[[str], Awaitable[Any]]) -> None:
    """Have the post of an open card checked again for each answer. `ask` evaluates in the card."""
    wrong: dict[str, object] = {}
    await until(lambda: ask(SHOWN), "the first check ends", within_s=60)
    for name, case in ANSWERS.items():
        model.script(*case.turns)
        await ask(PRESS_AGAIN)
        said = str(await until(lambda: ask(SHOWN), f"{name}: the check ends", within_s=60))
        missing = [one for one in sentences(case, model) if one not in said]
        if missing or len(model.asked) != case.requests:
            wrong[name] = missing, len(model.asked), said
        assert len(model.asked) <= MOST_REQUESTS
    assert wrong == {}


def sentences(case: Case, model: LoopbackModel) -> list[str]:
    """What the card has to say."""
    return [one.replace(HOST, urlsplit(model.url).netloc) for one in case.shown]


@pytest.mark.requirement("FS-10", "FS-26")
async def test_every_answer_in_chromium(package: Path, tmp_path: Path) -> None:
    """FS-10: After the sixth comes one request without tools and with a schema: at most seven are answered.
    FS-26: What cannot be read is asked for once more, then shown as it is in the reader's own tab.
    """
    async with checking(package, tmp_path) as (chromium, model):
        page = await ready(chromium, feed())
        frame = await press(chromium, page, "3own")
        await show_all(model, frame.evaluate)


async def test_every_answer_in_firefox(tmp_path: Path) -> None:
    package = shutil.copytree(EXTENSION / ".output" / "firefox-mv3", tmp_path / "package")
    manifest = json.loads((package / "manifest.json").read_text())
    # What the reader would allow when choosing; a test cannot answer the browser's question.
    manifest["host_permissions"] += ["http://127.0.0.1/*", "https://bsky.app/*"]
    (package / "manifest.json").write_text(json.dumps(manifest))
    post = feed()
    async with loopback_model() as model, firefox(package, tmp_path, {post.url: post.html}) as fox:
        welcome = await fox.welcome()
        chosen = json.dumps(settings(model, "bsky.app", "none"))
        await fox.evaluate(welcome, f"browser.storage.local.set({chosen})")
        await until(lambda: fox.evaluate(welcome, SCRIPTS), "the site is switched on", within_s=60)
        tab = await fox.open(post.url)
        card = await _press(fox, tab)
        await show_all(model, lambda expression: fox.evaluate(card, f"({expression})()"))
        keep("firefox-check.png", await fox.shot(tab))


SCRIPTS: Final = "browser.scripting.getRegisteredContentScripts().then((all) => all.length > 0)"
BOX: Final = """(() => { const { x, y, width } = document.querySelector('.post').getBoundingClientRect();
  return [x, y, width]; })()"""


async def _press(fox: Firefox, tab: str) -> str:
    """Press the button beside the first post; the document of the card."""
    x, y, width = await fox.evaluate(tab, BOX)

    async def frame() -> str | None:
        # Until the extension has started in the page, pointing brings no button.
        await fox.point(tab, x + 40, y + 20)
        await fox.point(tab, x + width + 22, y + 22, press=True)
        tree = (await fox.do("browsingContext.getTree", root=tab))["contexts"]
        return next((one["context"] for one in tree[0]["children"] if "/frame.html" in one["url"]), None)

    return await until(frame, "the card opens", within_s=60)
