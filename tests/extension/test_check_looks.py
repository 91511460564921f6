"""The card of a check in every state, in both themes, in a wide window and in one of a phone."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Frame, Page

from tests.extension.answers import ANSWERS, HOST
from tests.extension.checking import DARK, LIGHT, checking, feed, press, put_away, ready
from tests.extension.chromium import VIEW, Reader, words
from tests.extension.loopback_model import FOUND, QUERY, SILENT, USUAL, VERDICT, LoopbackModel, Turn, says, searches

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.xdist_group("extension-checks")]

WINDOWS: Final = {"wide": (VIEW, 600), "phone": ({"width": 390, "height": 800}, 366)}
"""A window's size and how wide the card is in it, in CSS pixels."""
VERDICTS: Final = {
    "True": ("fine", 92),
    "MostlyTrue": ("fine", 80),
    "Mixed": ("mixed", 55),
    "Misleading": ("mixed", 45),
    "False": ("wrong", 85),
    "Unverifiable": ("neutral", 10),
    "Opinion": ("neutral", 90),
}
ATLAS: Final = "https://atlas.example/towers"
FAILURES: Final = (
    "calls without end or tool",
    "a cut stream",
    "a broken connection",
    "401",
    "402",
    "429",
    "500",
    "a refusal",
)
LONG: Final = "Unbrokenwordsareaslongastheylike" * 5
BEYOND: Final = """() => [...document.querySelectorAll('body *')]
  .filter((one) => one.getBoundingClientRect().right > innerWidth + 0.5).map((one) => one.outerHTML.slice(0, 90))"""


def gives(**changes: object) -> tuple[Turn, ...]:
    """A search, and a verdict that differs from the usual one."""
    return searches(), says(json.dumps(VERDICT | changes))


async def looks(chromium: Reader, page: Page, frame: Frame, name: str) -> None:
    """Nothing is cut off at a side and axe objects to nothing, in a wide window and on a phone."""
    for width in ("wide", "phone"):
        await resize(chromium, page, frame, width)
        await chromium.until(lambda: frame.evaluate(BEYOND), f"{name} fits {width}", lambda beyond: beyond == [])
        assert await chromium.violations(frame) == [], name
        await page.mouse.move(1, 1)
        await chromium.shot(page, f"check-{name}-{width}")
    await resize(chromium, page, frame, "wide")


async def resize(chromium: Reader, page: Page, frame: Frame, width: str) -> None:
    """Make the window wide or that of a phone, and wait until the card has followed."""
    view, card = WINDOWS[width]
    await page.set_viewport_size({"width": view["width"], "height": view["height"]})
    await chromium.until(lambda: frame.evaluate("innerWidth"), "the card follows", lambda now: now == card)


async def again(chromium: Reader, frame: Frame, model: LoopbackModel, *turns: Turn) -> None:
    """Have the model give other answers to the same post, and wait until its check has begun anew."""
    model.script(*turns)
    button = frame.get_by_role("button", name=words("checkAgain"))
    before = await button.element_handle()
    await chromium.click(button)
    await chromium.until(lambda: before.evaluate("(one) => !one.isConnected"), "another check begins")


async def says_so(chromium: Reader, frame: Frame, sentence: str) -> None:
    """Wait for a sentence in the card."""
    await chromium.until(frame.locator("body").inner_text, sentence, lambda said: sentence in said)


async def shown(frame: Frame) -> None:
    """The check has ended."""
    await frame.get_by_role("button", name=words("checkAgain")).wait_for()


async def pill(chromium: Reader, frame: Frame, verdict: str) -> None:
    """Wait for a verdict, whose word follows its sign."""
    word = " " + words(f"verdict{verdict}")
    await chromium.until(frame.locator(".pill").inner_text, f"the verdict is{word}", lambda said: said.endswith(word))


@pytest.mark.requirement("FS-31", "FS-47")
@pytest.mark.parametrize(("theme", "colours"), [("light", LIGHT), ("dark", DARK)])
async def test_every_verdict(theme: str, colours: tuple[str, str], package: Path, tmp_path: Path) -> None:
    """FS-31: The card: verdict, percentage, summary, claims, caveats, sources.
    FS-47: Opinions show no scale of colours.
    """
    async with checking(package, tmp_path) as (chromium, model):
        page = await ready(chromium, feed(colours))
        frame = await press(chromium, page, "3own")
        await shown(frame)
        sources = [{"title": "", "url": url} for url in (FOUND, ATLAS)]
        for verdict, (tone, confidence) in VERDICTS.items():
            await again(chromium, frame, model, *gives(verdict=verdict, confidence=confidence, sources=sources))
            await pill(chromium, frame, verdict)
            assert await frame.locator(".number").inner_text() == words("checkConfidence", confidence)
            assert await frame.locator(f".verdict.{tone}").count() == 1
            assert await frame.locator(".scale").count() == (0 if verdict == "Opinion" else 1)
            await looks(chromium, page, frame, f"{verdict}-{theme}")
        opinion = await frame.locator(".verdict").evaluate(COLOURS_OF)
        await again(chromium, frame, model, *gives(verdict="Unverifiable", confidence=10))
        await pill(chromium, frame, "Unverifiable")
        assert await frame.locator(".verdict").evaluate(COLOURS_OF) == opinion, (
            "an opinion is as grey as what nobody knows"
        )


COLOURS_OF: Final = """(verdict) => {
  const { color, backgroundColor } = getComputedStyle(verdict.querySelector('.pill'));
  return [color, backgroundColor];
}"""


@pytest.mark.requirement("FS-23", "FS-31")
@pytest.mark.parametrize(("theme", "colours"), [("light", LIGHT), ("dark", DARK)])
async def test_every_other_state(theme: str, colours: tuple[str, str], package: Path, tmp_path: Path) -> None:
    """FS-23: The lowest cap wins, confidence never rises, the card names caps and the model's number.
    FS-31: The card: verdict, percentage, summary, claims, caveats, sources.
    """
    async with checking(package, tmp_path) as (chromium, model):
        page = await ready(chromium, feed(colours))
        model.script(SILENT)
        frame = await press(chromium, page, "3own")
        await frame.locator(".running").get_by_text(words("checkAsking")).wait_for()
        await looks(chromium, page, frame, f"asking-{theme}")
        await chromium.click(frame.get_by_role("button", name=words("checkStop")))
        await frame.locator(".sentence").get_by_text(words("checkCancelled")).wait_for()
        await looks(chromium, page, frame, f"cancelled-{theme}")

        model.held = asyncio.Event()
        await again(chromium, frame, model, searches(), SILENT)
        await frame.locator(".query").get_by_text(QUERY).wait_for()
        await looks(chromium, page, frame, f"searching-{theme}")
        model.held.set()
        model.held = None
        await frame.get_by_text("Towers of the world").wait_for()
        await looks(chromium, page, frame, f"found-{theme}")
        await chromium.click(frame.get_by_role("button", name=words("checkStop")))

        weak: dict[str, Any] = {"confidence": 95, "sources": [], "summary": f"It is lower. {LONG}", "caveats": LONG}
        claims = [{"claim": f"Claim {number}: {LONG}", "assessment": "It is not."} for number in range(3)]
        await again(chromium, frame, model, says(json.dumps(VERDICT | weak | {"claims": claims})))
        await frame.get_by_text(words("capNoSearch", 40)).wait_for()
        said = await frame.locator("body").inner_text()
        assert words("checkConfidence", 40) in said
        assert words("checkModelSaid", 95) in said
        await chromium.click(frame.get_by_text(words("checkClaims", 3)))
        await looks(chromium, page, frame, f"caps-{theme}")
        for name in FAILURES:
            await again(chromium, frame, model, *ANSWERS[name].turns)
            await says_so(chromium, frame, ANSWERS[name].shown[0].replace(HOST, urlsplit(model.url).netloc))
            await looks(chromium, page, frame, f"failed-{name.replace(' ', '-')}-{theme}")

        assert await chromium.chrome("() => chrome.permissions.remove({ origins: ['http://127.0.0.1/*'] })")
        await again(chromium, frame, model, *USUAL)
        await says_so(chromium, frame, words("failNoPermission", urlsplit(model.url).netloc))
        await looks(chromium, page, frame, f"no-permission-{theme}")
        for name, setting, said in (
            ("no-consent", "verdictConsent", words("failNoConsent")),
            ("not-configured", "verdictModel", words("failNotConfigured")),
        ):
            await chromium.settle(**{setting: ""})
            await again(chromium, frame, model, *USUAL)
            await says_so(chromium, frame, said)
            await frame.get_by_role("link", name=words("checkSettings")).wait_for()
            await looks(chromium, page, frame, f"{name}-{theme}")
            assert model.asked == []
        await put_away(chromium, page, chromium.click(frame.get_by_role("button", name=words("pageClose"))))
        frame = await press(chromium, page, "3cut")
        await frame.get_by_text(words("unreadableCut")).wait_for()
        await looks(chromium, page, frame, f"unreadable-{theme}")
