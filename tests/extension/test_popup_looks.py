"""The popup at the width it really has, in each of its states and in both themes: nothing is cut off at a side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

import pytest

from tests.extension import posts
from tests.extension.chromium import Reader, words
from tests.extension.conftest import World
from tests.extension.posts import BRAIN, GOLDFISH, WALL, Post
from tests.extension.test_popup import ID, answering, claim

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.xdist_group("extension")]

WIDTH: Final = 330
"""What the popup asks the browser for: 22 of its own letters of 15 pixels."""
BEYOND: Final = "[...document.querySelectorAll('*')].filter((one) => one.getBoundingClientRect().right > innerWidth)"
FOUND: Final = [claim(BRAIN, id="one"), claim(WALL, id="two")]
PRIOR: Final = {"oldClaims": FOUND, "sourceInvestigationId": ID}
FRESH: Final = {"investigationState": "NOT_INVESTIGATED", "viewCount": 17}
RUNNING: Final = {
    "investigationState": "INVESTIGATING",
    "investigationId": ID,
    "status": "PROCESSING",
    "provenance": "CLIENT_FALLBACK",
    "pendingClaims": [claim(WALL)],
    "confirmedClaims": [claim(BRAIN)],
    "priorInvestigationResult": None,
}
DONE: Final = {"investigationState": "INVESTIGATED", "provenance": "CLIENT_FALLBACK", "investigationId": ID}
LONG: Final = claim(GOLDFISH, id="three") | {"summary": "Unbrokenwordsareaslongastheylike" * 4}
STATES: Final[dict[str, tuple[Mapping[str, object] | str, str]]] = {
    "waiting": ({**FRESH, "priorInvestigationResult": None}, words("popupNotInvestigated")),
    "interim": ({**FRESH, "priorInvestigationResult": PRIOR}, words("popupInterim")),
    "running": (RUNNING, words("popupProgress", 2, 1)),
    "clean": ({**DONE, "claims": []}, words("popupClean")),
    "found": ({**DONE, "claims": [*FOUND, LONG]}, words("popupFoundMany", 3)),
    "unanswered": ({"investigationState": "A NEW ONE"}, words("problemBadAnswer")),
    "skipped": ("https://en.wikipedia.org/wiki/Talk:A_walk", words("popupSkippedUnsupported")),
    "unsupported": ("https://x.com/home", words("popupUnsupported")),
    "checking": ("https://www.lesswrong.com/posts/neverready/a-walk", words("popupChecking")),
}


@pytest.mark.parametrize("state", STATES)
async def test_the_popup_at_its_own_width(state: str, chromium: Reader, world: World) -> None:
    given, said = STATES[state]
    answers: dict[str, Any] = {}
    if isinstance(given, str):
        post = Post(given, posts.document("<title>A walk</title>", f"<p>{BRAIN}</p>"))
    else:
        post = posts.x(BRAIN)
        answers = {"recordViewAndGetStatus": given, "getInvestigation": given}
    with answering(chromium, **answers):
        popup = await chromium.popup(await chromium.open(post))
        await popup.get_by_text(said).first.wait_for()
        assert await popup.evaluate("document.body.getBoundingClientRect().width") == WIDTH
        await popup.set_viewport_size({"width": WIDTH, "height": 600})
        schemes: tuple[Literal["light"], Literal["dark"]] = ("light", "dark")
        for scheme in schemes:
            await popup.emulate_media(color_scheme=scheme)
            assert await popup.evaluate("document.documentElement.scrollWidth") == WIDTH
            assert await popup.evaluate(f"{BEYOND}.map((one) => one.outerHTML.slice(0, 80))") == []
            await chromium.shot(popup, f"popup-{state}-{scheme}")
