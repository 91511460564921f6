"""A reader sets checks up: what is asked for, given back, agreed to and stored."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import pytest
from playwright.async_api import Page, expect

from tests.extension.checking import (
    FEED,
    HANDLE,
    HAS_BUTTON,
    KEY,
    SEARCH,
    checking,
    feed,
    hosts_in,
    point,
    press,
    ready,
    switch,
)
from tests.extension.chromium import ROOT, Reader, words
from tests.extension.loopback_model import LoopbackModel
from tests.extension.posts import Post

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.xdist_group("extension-checks")]

PROMPT: Final = (ROOT / "contracts" / "verdict" / "prompt.txt").read_text()
OURS: Final = "api.openerrata.com"
TAVILY: Final = "api.tavily.com"
MODEL: Final = "http://127.0.0.1/*"
ORIGINS: Final = "async () => (await chrome.permissions.getAll()).origins.sort()"
STORED: Final = "async (key) => (await chrome.storage.local.get(key))[key]"
LOG: Final = """() => {
  globalThis.asked = [];
  for (const permissions of new Set([chrome.permissions, (globalThis.browser ?? chrome).permissions])) {
    const request = permissions.request.bind(permissions);
    permissions.request = (wanted) => {
      asked.push(...wanted.origins);
      return request(wanted);
    };
  }
}"""
"""Keeps what the page asks the browser for."""


async def settings_page(chromium: Reader) -> Page:
    """The settings, with a log of what they ask the browser for."""
    page = await chromium.options()
    await page.evaluate(LOG)
    return page


async def save(options: Page) -> None:
    """Save the settings of checks."""
    await options.get_by_role("button", name=words("optionsChecksSave")).click()


async def searches(model: LoopbackModel) -> int:
    """How often something was searched for."""
    return len(model.searched)


@pytest.mark.requirement("FS-41", "FS-42")
async def test_a_reader_chooses_agrees_and_gives_it_back(package: Path, tmp_path: Path) -> None:
    """FS-41: Nothing is sent before the reader has agreed to these hosts and this text.
    FS-42: An update asks for no host and shows no new warning.
    """
    async with checking(package, tmp_path, chosen=False) as (chromium, model):
        installed = await chromium.chrome(ORIGINS)
        for pattern in (MODEL, f"https://{SEARCH}/*", f"https://{TAVILY}/*", "https://bsky.app/*"):
            await chromium.answer_yes(pattern)
        options = await settings_page(chromium)
        await options.get_by_label("Bluesky", exact=True).check()
        await chromium.until(
            lambda: chromium.chrome(STORED, "verdictSites"), "the site is on", lambda on: on == ["bsky.app"]
        )
        await options.get_by_label(words("optionsRoute"), exact=True).select_option(words("routeOther"))
        await options.get_by_label(words("optionsRouteAddress"), exact=True).fill(model.url)
        await options.get_by_label(words("optionsModel"), exact=True).fill("small")
        await options.get_by_label(words("optionsModelKey"), exact=True).fill(KEY)
        await options.get_by_label(words("optionsSearch"), exact=True).select_option("DuckDuckGo")
        assert await options.evaluate("asked") == ["https://bsky.app/*"], "asked for when chosen, not before"
        disclosure = options.locator("section[aria-labelledby=disclosure]")
        for host in (urlsplit(model.url).netloc, SEARCH):
            await expect(disclosure).to_contain_text(host)
        await save(options)
        await options.get_by_text(words("optionsNotAgreed")).wait_for()
        assert await options.evaluate("asked") == ["https://bsky.app/*", MODEL, f"https://{SEARCH}/*"]
        assert [model.asked, model.searched] == [[], []], "no connection test without agreement"

        page = await ready(chromium, feed())
        frame = await press(chromium, page, "3own")
        async with chromium.context.expect_page() as opened:
            await chromium.click(frame.get_by_role("link", name=words("checkSettings")))
        linked = await opened.value
        await linked.get_by_role("heading", name=words("optionsChecks")).wait_for()
        await linked.close()
        assert model.asked == []

        await disclosure.get_by_role("checkbox").check()
        await save(options)
        await options.get_by_text("DuckDuckGo returns 2 results").wait_for()
        assert [one["messages"][0]["content"] for one in model.asked] == ["Answer with OK."]
        model.script(*model.turns)
        await frame.get_by_role("button", name=words("checkAgain")).click()
        await frame.get_by_text(words("checkEstimate")).wait_for()

        await options.get_by_label(words("optionsSearch"), exact=True).select_option("Tavily")
        await options.get_by_label(words("optionsSearchKey"), exact=True).fill("tvly-canary")
        await expect(disclosure).to_contain_text(TAVILY)
        await expect(disclosure.get_by_role("checkbox")).not_to_be_checked()
        await save(options)
        await options.get_by_text(words("optionsNotAgreed")).wait_for()
        allowed = await chromium.chrome(ORIGINS)
        assert f"https://{SEARCH}/*" not in allowed, "the search before is given back"
        assert f"https://{TAVILY}/*" in allowed
        model.script(*model.turns)
        await frame.get_by_role("button", name=words("checkAgain")).click()
        await frame.locator(".sentence").get_by_text(words("failNoConsent")).wait_for()
        assert model.asked == []

        await options.get_by_label(words("optionsSearch"), exact=True).select_option(words("searchNone"))
        await options.get_by_label(words("optionsRoute"), exact=True).select_option(words("routeNone"))
        await save(options)
        await options.get_by_text(words("optionsSaved"), exact=True).wait_for()
        await options.get_by_label("Bluesky", exact=True).uncheck()
        await chromium.until(lambda: chromium.chrome(ORIGINS), "all is given back", lambda now: now == installed)


@pytest.mark.requirement("FS-32", "FS-33")
async def test_the_prompt_is_edited_and_reset(package: Path, tmp_path: Path) -> None:
    """FS-32: The prompt can be edited, and reset to the shipped bytes.
    FS-33: A card names prompt, model and search.
    """
    async with checking(package, tmp_path) as (chromium, model):
        options = await settings_page(chromium)
        await options.get_by_text(words("optionsPrompt"), exact=True).click()
        prompt = options.get_by_role("textbox", name=words("optionsPrompt"))
        reset = options.get_by_role("button", name=words("optionsPromptReset"))
        assert await prompt.input_value() == PROMPT
        await expect(reset).to_be_disabled()
        page = await ready(chromium, feed())
        for own in ("Judge the post.\nBe brief.", ""):
            if own:
                await prompt.fill(own)
            else:
                await reset.click()
                assert await prompt.input_value() == PROMPT
            tests = len(model.searched)
            await save(options)
            await chromium.until(lambda: searches(model), "the search is tested", tests.__lt__)
            await options.get_by_text("DuckDuckGo returns 2 results").wait_for()
            assert await chromium.chrome(STORED, "verdictPrompt") == own
            model.script(*model.turns)
            frame = await press(chromium, page, "3own")
            await frame.get_by_text(words("checkEstimate")).wait_for()
            system = model.asked[0]["messages"][0]["content"]
            assert system.startswith((own or PROMPT) + ("\n" if own else ""))
            footer = await frame.locator("footer").inner_text()
            assert (words("checkOwnPrompt") in footer) is bool(own)
            await page.reload()
            await chromium.own(page, "1")


def thread() -> Post:
    """The page of one post, which both the underlines and the button take for one."""
    profile = f"/profile/{HANDLE}"
    avatar = "https://cdn.bsky.app/img/avatar/plain/did:plc:ewvi7nxzyoun6zhxrhs64oiz/cid@jpeg"
    body = (
        f'<div data-testid="postThreadScreen"><div data-testid="postThreadItem-by-{HANDLE}" class="post">'
        f'<a href="{profile}"><img src="{avatar}" width="40" height="40" alt=""></a>'
        '<div dir="auto" data-word-wrap="1">The tower is 400 m tall, and the library is closed today.</div>'
        f'<a href="{profile}/post/3own/liked-by">3 likes</a></div></div>'
    )
    style = "body{margin:0 auto;max-width:600px}"
    return Post(
        f"{FEED[:-1]}{profile}/post/3own", f"<!doctype html><html lang='en'><style>{style}</style><body>{body}</body>"
    )


@pytest.mark.requirement("FS-34", "FS-54")
@pytest.mark.parametrize("underlines", [False, True])
async def test_underlines_and_checks_are_two_switches(underlines: bool, package: Path, tmp_path: Path) -> None:
    """FS-34: No server of ours and no telemetry takes part.
    FS-54: Underlines and checks are two switches on Bluesky.
    """
    log = tmp_path / "network.json"
    own: dict[str, Any] = {"mode": "full", "sitesOff": [], "sitesAdded": ["bsky.app"] if underlines else []}
    async with checking(package, tmp_path, f"--log-net-log={log}") as (chromium, model):
        await chromium.allow(f"https://{OURS}/*")
        for checks in (False, True):
            sites = ["bsky.app"] if checks else []
            await switch(chromium, **own, verdictSites=sites)
            chromium.sent.clear()
            page = await chromium.open(thread())
            if underlines:
                await chromium.until(lambda: ours(chromium), "the server is asked about the post")
            if checks:
                frame = await press(chromium, page, "3own/liked-by")
                await frame.get_by_text(words("checkEstimate")).wait_for()
            elif underlines:
                assert not await page.evaluate(HAS_BUTTON, list(await point(page, "3own/liked-by")))
            assert bool(await ours(chromium)) is underlines
            assert bool(model.asked) is checks
            await page.close()
    assert (OURS in hosts_in(log)) is underlines


async def ours(chromium: Reader) -> list[str]:
    """What a server of ours was asked."""
    return [one.path for one in chromium.sent if urlsplit(one.url).netloc == OURS]
