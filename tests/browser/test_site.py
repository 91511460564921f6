"""The public pages in a real browser: for everybody, in both themes, at any width, without a script.

Screenshots of every page are kept in `.artifacts/site`.
"""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

import pytest
from playwright.async_api import Browser, Page, Request, async_playwright, expect

from contracts.v1 import AppealProofChecked
from contracts.v1.ids import author_id
from tests.architecture.sources import ROOT
from tests.browser.chromium import FLAGS, executable
from tests.integration.readmodel_tables import prepare
from tests.support.desk_server import APPEAL, DeskServer, desk_server
from tests.support.notaries import OPENED, Instance, MemoryObjects
from tests.support.public_claims import LAMPS, SHIPS, TIDES, tell_claims
from tests.support.public_record import CLEAN, ESSAY, HOSTILE, MOON, TWEET, public_record
from tests.support.publishers import tape_of_publishers
from tests.support.servers import Prepare
from tests.support.site_server import site_server, tell
from tests.unit.projector.histories import Tape, uid

pytest_plugins = ["tests.support.servers"]
pytestmark = pytest.mark.xdist_group("browser")

Theme = Literal["light", "dark"]
SIZES: Final = {"wide": (1280, 900), "phone": (390, 844)}
LOOKS: Final[tuple[tuple[Theme, str], ...]] = (
    ("light", "wide"), ("dark", "wide"), ("dark", "phone"), ("light", "phone")
)  # fmt: skip
STATEMENT: Final = "The sentence is a quotation; see the second paragraph."
STATED: Final = APPEAL.model_copy(update={"by_author": True, "statement": STATEMENT})
UNPROVEN: Final = STATED.model_copy(
    update={
        "appeal_id": uid("unproven"),
        "investigation_id": ESSAY.investigation_id,
        "claim_ids": (ESSAY.claim(0)[0],),
    }
)
PROOF: Final = AppealProofChecked(
    proof_id=uid("proof"),
    appeal_id=STATED.appeal_id,
    investigation_id=STATED.investigation_id,
    outcome="PROVEN",
)
PAGES: Final = {
    "home": "/",
    "corrections": "/corrections",
    "retractions": "/retractions",
    "search": "/corrections?q=moon",
    "investigation": f"/investigations/{MOON.investigation_id}",
    "readers": f"/investigations/{TWEET.investigation_id}",
    "demo": f"/investigations/{ESSAY.investigation_id}",
    "clean": f"/investigations/{CLEAN.investigation_id}",
    "hostile": f"/investigations/{HOSTILE.investigation_id}",
    "post": "/posts/wikipedia/en:555",
    "authors": "/authors",
    "author": f"/authors/{author_id('WIKIPEDIA', 'u-Wikipedia contributors')}",
    "text": f"/investigations/{HOSTILE.investigation_id}/text",
    "audit": f"/investigations/{MOON.investigation_id}/audit",
    "docs": "/docs",
    "figures": "/figures",
    "accuracy": "/accuracy",
    "log": "/log",
    "publisher": "/publishers/for.example",
    "how-it-works": "/how-it-works",
    "api": "/api",
    "claims": "/claims?q=ships",
    "claim": f"/claims/{SHIPS}",
    "claim-unedited": f"/claims/{LAMPS}",
    "appeal": f"/appeals/{UNPROVEN.appeal_id}",
    "appeal-of-author": f"/appeals/{STATED.appeal_id}",
    "missing": "/nowhere",
}


@pytest.fixture(scope="session")
def prepare_database() -> Prepare:
    return prepare


@pytest.fixture
async def site(database_url: str) -> AsyncIterator[str]:
    errata, views = public_record()
    logged = Tape()
    logged.add(OPENED)
    for record in errata.records:
        logged.raw(record.subject, record.data)
    logged.add(STATED, PROOF, UNPROVEN)
    await tell(database_url, logged, views)
    await tell_claims(database_url, tape_of_publishers())
    notary = Instance(database_url, MemoryObjects())
    await notary.enter()
    await notary.publisher.publish()
    await notary.close()
    async with site_server(database_url, errata.now + timedelta(hours=1)) as url:
        yield url


@pytest.fixture
async def desk(database_url: str) -> AsyncIterator[DeskServer]:
    errata, _ = public_record()
    errata.add(APPEAL)
    await tell(database_url, errata)
    await tell_claims(database_url)
    async with desk_server(database_url, errata.now + timedelta(hours=1)) as server:
        yield server


@pytest.fixture
async def chromium() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=executable(), args=FLAGS, chromium_sandbox=os.geteuid() != 0
        )
        yield browser
        await browser.close()


@pytest.fixture
def artifacts() -> Path:
    """Where screenshots are kept for people to look at."""
    folder = ROOT / ".artifacts" / "site"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@cache
def axe_source() -> str:
    """The rules of axe-core as a script."""
    path = Path(os.environ.get("AXE_PATH") or ROOT / "extension" / "node_modules" / "axe-core" / "axe.min.js")
    assert path.is_file(), "these tests need axe-core: install the extension's packages, or set AXE_PATH to axe.min.js"
    return path.read_text()


async def violations(page: Page) -> list[dict[str, Any]]:
    """The rules that the page breaks, with the elements that do; of the others nothing is asked nor carried over."""
    await page.evaluate(f"() => {{ {axe_source()} }}")
    found: list[dict[str, Any]] = await page.evaluate(
        "async () => (await axe.run({resultTypes: ['violations']})).violations"
    )
    return found


async def paper(chromium: Browser, theme: Theme, size: str, said: list[str], *, scripts: bool) -> Page:
    """A page that notes whatever the browser complains of."""
    width, height = SIZES[size]
    context = await chromium.new_context(
        viewport={"width": width, "height": height}, color_scheme=theme, java_script_enabled=scripts
    )
    page = await context.new_page()
    page.on("console", lambda message: said.append(f"{page.url}: {message.text}"))
    page.on("pageerror", lambda error: said.append(f"{page.url}: {error}"))
    page.on("requestfailed", lambda request: said.extend(_failed(request)))
    return page


async def look(page: Page, theme: Theme, size: str, shot: Path) -> int:
    """How wide the page comes out in a theme and a window, without being loaded again; a picture of it is kept."""
    width, height = SIZES[size]
    await page.emulate_media(color_scheme=theme)
    await page.set_viewport_size({"width": width, "height": height})
    await page.screenshot(path=shot, type="jpeg", full_page=True)
    broad: int = await page.evaluate("document.documentElement.scrollWidth")
    return broad


def _failed(request: Request) -> list[str]:
    """What a page's end cuts short, as the icon of a page that is left at once, has not failed."""
    return [] if request.failure == "net::ERR_ABORTED" else [f"failed: {request.url} {request.failure}"]


async def test_every_page_in_both_themes_and_at_phone_width(chromium: Browser, site: str, artifacts: Path) -> None:
    said: list[str] = []
    page = await paper(chromium, "light", "wide", said, scripts=False)
    for name, path in PAGES.items():
        await page.goto(site + path)
        for theme, size in LOOKS:
            broad = await look(page, theme, size, artifacts / f"{name}-{theme}-{size}.jpeg")
            assert broad <= SIZES[size][0], f"{name} is {broad} px wide"
    assert [line for line in said if "404" not in line] == []


async def test_everybody_can_use_every_page(chromium: Browser, site: str) -> None:
    said: list[str] = []
    for theme, size in (("light", "wide"), ("dark", "phone")):
        page = await paper(chromium, theme, size, said, scripts=True)  # type: ignore[arg-type]  # texts of the loop are Literals there
        for name, path in PAGES.items():
            await page.goto(site + path)
            broken = [
                (name, theme, rule["id"], [node["html"][:200] for node in rule["nodes"]])
                for rule in await violations(page)
            ]
            assert broken == []
        await page.context.close()
    assert [line for line in said if "404" not in line] == []


async def test_axe_would_have_told(chromium: Browser) -> None:
    page = await chromium.new_page()
    await page.set_content("<html><body><img src='x'><p style='color:#eee;background:#fff'>pale</p></body></html>")
    assert {"image-alt", "color-contrast"} <= {rule["id"] for rule in await violations(page)}


async def test_a_finding_and_its_place_lead_to_each_other(chromium: Browser, site: str) -> None:
    page = await paper(chromium, "light", "wide", [], scripts=False)
    await page.goto(site + PAGES["investigation"])
    assert await page.locator(".post mark").count() == 2
    line = await page.locator("#place-1").evaluate("node => getComputedStyle(node).textDecorationStyle")
    assert line == "wavy"
    await page.get_by_role("link", name="Its place in the text").first.click()
    await expect(page).to_have_url(re.compile("#place-1$"))
    await page.get_by_role("link", name="Finding 1").click()
    await expect(page).to_have_url(re.compile("#finding-1$"))


async def test_hostile_texts_run_nothing_and_load_nothing(chromium: Browser, site: str) -> None:
    said: list[str] = []
    page = await paper(chromium, "light", "wide", said, scripts=True)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("dialog", lambda dialog: said.append(dialog.message))
    for name in ("hostile", "home", "corrections", "authors"):
        await page.goto(site + PAGES[name])
    assert said == []
    assert {url.removeprefix(site).split("?")[0].rpartition(".")[2] for url in asked} <= {
        PAGES["hostile"], "/", "/corrections", "/authors", "css", "svg"
    }  # fmt: skip


LEFT_TO_RIGHT: Final = """([selector, words]) => [...document.querySelectorAll(selector)].map(node => {
  const text = [...node.childNodes].find(each => each.nodeType === Node.TEXT_NODE && each.data.includes(words));
  const range = document.createRange();
  const from = text.data.indexOf(words);
  const left = at => (range.setStart(text, at), range.setEnd(text, at + 1), range.getBoundingClientRect().left);
  return left(from) < left(from + words.length - 1);
})"""
"""Whether the words in each of these elements run from left to right; they stand on one line."""


async def test_the_title_of_a_cited_page_turns_none_of_our_words(chromium: Browser, site: str) -> None:
    page = await paper(chromium, "light", "wide", [], scripts=True)
    await page.goto(site + PAGES["claim"])
    assert "\u202e" in await page.locator(".backing a").first.inner_text()
    assert set(await page.evaluate(LEFT_TO_RIGHT, [".backing p:has(a + a)", "relevance 90"])) == {True}


async def test_the_line_beside_a_correction_stands_where_its_words_begin(chromium: Browser, site: str) -> None:
    page = await paper(chromium, "light", "phone", [], scripts=True)
    await page.goto(site + PAGES["investigation"])
    correction = page.locator(".right").first
    widths = "node => [getComputedStyle(node).borderLeftWidth, getComputedStyle(node).borderRightWidth]"
    assert await correction.evaluate(widths) == ["2px", "0px"]
    await correction.evaluate("node => { node.textContent = 'لا يمكن رؤية أي بناء من القمر' }")
    assert await correction.evaluate(widths) == ["0px", "2px"]


async def test_a_reader_searches_without_a_script(chromium: Browser, site: str) -> None:
    page = await paper(chromium, "dark", "phone", [], scripts=False)
    await page.goto(f"{site}/corrections")
    await page.get_by_label("Words, a title, an author or an address").fill("goldfish")
    await page.get_by_label("Site").select_option("Substack")
    await page.get_by_role("button", name="Search").click()
    await expect(page.locator("article")).to_have_count(1)
    await page.get_by_role("link", name="Notes on attention").click()
    await expect(page).to_have_url(site + PAGES["demo"])


DESK: Final = ("", "/claims", f"/claims/{SHIPS}", f"/claims/{TIDES}", "/flags", "/edits", "/appeals", "/nowhere")


async def log_in(page: Page, desk: DeskServer, key: str) -> None:
    await page.goto(f"{desk.url}/desk")
    assert page.url == f"{desk.url}/desk/login"
    await page.get_by_label("API key").fill(key)
    await page.get_by_role("button", name="Log in").click()
    await expect(page).to_have_url(f"{desk.url}/desk")


async def test_the_desk_in_both_themes_and_at_phone_width(chromium: Browser, desk: DeskServer, artifacts: Path) -> None:
    said: list[str] = []
    page = await paper(chromium, "light", "wide", said, scripts=False)
    await log_in(page, desk, "oe_admin")
    for path in (*DESK, f"/jobs/{desk.job}", "/login"):
        await page.goto(f"{desk.url}/desk{path}")
        name = path.replace(desk.job, "one").replace(str(SHIPS), "ships").replace(str(TIDES), "tides")
        for theme, size in LOOKS:
            broad = await look(page, theme, size, artifacts / f"desk{name.replace('/', '-')}-{theme}-{size}.jpeg")
            assert broad <= SIZES[size][0], f"{path} is {broad} px wide"
    assert [line for line in said if "404" not in line] == []


async def test_everybody_can_use_the_desk(chromium: Browser, desk: DeskServer) -> None:
    said: list[str] = []
    for theme, size in (("light", "wide"), ("dark", "phone")):
        page = await paper(chromium, theme, size, said, scripts=True)  # type: ignore[arg-type]  # texts of the loop are Literals there
        await log_in(page, desk, "oe_admin")
        for path in (*DESK, f"/jobs/{desk.job}", "/login"):
            await page.goto(f"{desk.url}/desk{path}")
            await page.evaluate("document.querySelectorAll('details').forEach(each => each.open = true)")
            broken = [(rule["id"], [node["html"][:200] for node in rule["nodes"]]) for rule in await violations(page)]
            assert (path, broken) == (path, [])
        await page.context.close()
    assert [line for line in said if "404" not in line] == []


async def test_a_moderator_works_without_a_script(chromium: Browser, desk: DeskServer) -> None:
    page = await paper(chromium, "dark", "phone", [], scripts=False)
    await log_in(page, desk, "oe_moderator")
    await page.get_by_role("link", name="Flags").click()
    await page.get_by_label("Your reason").fill("It is.")
    await page.get_by_role("button", name="Accept").click()
    await expect(page.get_by_role("status")).to_have_text("Stored. Pages show it within a second or two.")
    await page.goto(f"{desk.url}/desk/claims/{SHIPS}")
    await page.locator("[name=wording]").fill("Ships sail at one.")
    await page.get_by_label("Reason, which is public").fill("They do.")
    await page.get_by_role("button", name="Save as version 4").click()
    await expect(page).to_have_url(f"{desk.url}/desk/claims/{SHIPS}?done=4")
    await page.get_by_label("Reason, which is public").fill("They do, I say.")
    await page.locator("[name=wording]").fill("Ships sail at two.")
    await page.get_by_role("button", name="Save as version 4").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Changed meanwhile")
    await expect(page.get_by_text("Ships sail at two.")).to_be_visible()
    await page.go_back()
    await page.get_by_role("button", name="Log out").click()
    await expect(page).to_have_url(f"{desk.url}/desk/login")
    await page.goto(f"{desk.url}/desk/flags")
    assert page.url == f"{desk.url}/desk/login"


async def test_a_page_elsewhere_can_send_no_form(chromium: Browser, desk: DeskServer) -> None:
    page = await paper(chromium, "light", "wide", [], scripts=False)
    await log_in(page, desk, "oe_admin")
    before = len(desk.bench.jobs.facts)
    form = f"<form method='post' action='{desk.url}/desk/claims/{SHIPS}/hide'><button>Go</button></form>"
    await page.route("http://elsewhere.example/", lambda route: route.fulfill(body=form, content_type="text/html"))
    await page.goto("http://elsewhere.example/")
    async with page.expect_navigation() as navigated:
        await page.get_by_role("button", name="Go").click()
    response = await navigated.value
    assert response is not None
    assert response.status == 403
    assert len(desk.bench.jobs.facts) == before
    await page.goto(f"{desk.url}/desk")
    assert page.url == f"{desk.url}/desk"
