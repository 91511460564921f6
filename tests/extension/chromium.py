"""A reader: Chromium with the extension installed, the sites that it sees, and what leaves it.

Pages are served under their true addresses by interception, so that the browser's own rules about hosts,
permissions and content scripts apply. Every request is recorded; only those to loopback go anywhere.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

from playwright.async_api import BrowserContext, Frame, Locator, Page, Route, Worker, async_playwright

from tests.browser.chromium import FLAGS, executable
from tests.extension.posts import Post
from tests.support.system import until

ROOT: Final = Path(__file__).parents[2]
EXTENSION: Final = ROOT / "extension"
ARTIFACTS: Final = ROOT / ".artifacts" / "extension"
AXE: Final = EXTENSION / "node_modules" / "axe-core" / "axe.min.js"
WITHIN_S: Final = 40.0
"""What anything may take on a busy machine."""
VIEW: Final = {"width": 1000, "height": 700}
PERMISSIONS: Final = "chrome://extensions/strings.m.js"
"""A file of the page about extensions: it may do what that page may, which takes 0.6 s of CPU to be shown."""
UNDERLINED: Final = """() => {
  const found = new Map();
  for (const [name, highlight] of CSS.highlights) if (name !== 'aside-here') for (const range of highlight)
    found.set(range, String(range));
  return [...found.values()].join('');
}"""
OBSERVE: Final = """() => {
  globalThis.seen = [];
  new MutationObserver((records) => {
    for (const { type, target, addedNodes, removedNodes } of records)
      seen.push([type, target.nodeName, [...addedNodes].map((n) => n.nodeName), removedNodes.length]);
  }).observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
}"""
BOX: Final = """(words) => {
  const ranges = [...CSS.highlights].flatMap(([, highlight]) => [...highlight]);
  const around = (range) => range.startContainer.parentElement.closest('p, div').textContent;
  const range = ranges.find((one) => words.includes(String(one).trim()) && around(one).includes(words));
  if (!range) return null;
  range.startContainer.parentElement.scrollIntoView({ block: 'center', behavior: 'instant' });
  const { x, y, width, height } = range.getClientRects()[0];
  return { x: x + Math.min(width / 2, 40), y: y + height / 2 };
}"""
RED: Final = """async (encoded) => {
  const bytes = Uint8Array.from(atob(encoded), (c) => c.charCodeAt(0));
  const image = await createImageBitmap(new Blob([bytes], { type: 'image/png' }));
  const canvas = new OffscreenCanvas(image.width, image.height).getContext('2d');
  canvas.drawImage(image, 0, 0);
  const { data } = canvas.getImageData(0, 0, image.width, image.height);
  let red = 0;
  for (let i = 0; i < data.length; i += 4) if (data[i] > 150 && data[i + 1] < 110 && data[i + 2] < 110) red++;
  return red;
}"""

T = TypeVar("T")


def words(key: str, *given: object) -> str:
    """What the extension says under a key, in English."""
    messages = json.loads((EXTENSION / "public" / "_locales" / "en" / "messages.json").read_text())
    said: str = messages[key]["message"]
    for place, value in enumerate(given, start=1):
        said = said.replace(f"${place}", str(value))
    return said


@dataclass(frozen=True)
class Sent:
    """A request that left the browser. `by` is what asked: a page of the web, or the extension."""

    by: str
    method: str
    url: str
    headers: dict[str, str]
    body: str

    @property
    def path(self) -> str:
        """The address without host and query."""
        return urlsplit(self.url).path


@dataclass
class Reader:
    """The browser. `sent` grows by every request that leaves it."""

    context: BrowserContext
    id: str
    desk: Page
    pages: dict[str, str]
    headers: dict[str, str] = field(default_factory=dict)
    answers: dict[str, object] = field(default_factory=dict)
    """What is said instead of the server's own answer to a procedure."""
    sent: list[Sent] = field(default_factory=list)
    offline: bool = False
    reachable: set[str] = field(default_factory=lambda: {"127.0.0.1"})
    """Hosts that requests are let through to."""

    async def open(self, post: Post) -> Page:
        """Go to a post in a new tab."""
        self.pages[post.url] = post.html
        page = await self.context.new_page()
        await page.goto(post.url)
        return page

    def asked(self, procedure: str) -> list[Sent]:
        """The requests to the server for one of its procedures."""
        return [one for one in self.sent if one.path == f"/trpc/{procedure}"]

    async def chrome(self, expression: str, argument: object = None) -> Any:
        """Evaluate in one of the extension's own pages."""
        return await self.desk.evaluate(expression, argument)

    async def tab(self, page: Page) -> int:
        """The browser's number of a tab."""
        address = page.url.split("#")[0]
        found: int = await self.chrome(
            "async (url) => (await chrome.tabs.query({})).find((tab) => tab.url?.split('#')[0] === url).id", address
        )
        return found

    async def badge(self, page: Page) -> str:
        """What the toolbar button says over a tab."""
        said: str = await self.chrome("(tabId) => chrome.action.getBadgeText({ tabId })", await self.tab(page))
        return said

    async def shows(self, page: Page, badge: str) -> None:
        """Wait until the toolbar button says this over a tab: popup and page may hear of a change before it does."""
        await self.until(lambda: self.badge(page), f"the button says “{badge}”", lambda said: said == badge)

    async def popup(self, page: Page) -> Page:
        """The popup over a tab, in a tab of its own."""
        tab = await self.tab(page)
        popup = await self.context.new_page()
        await popup.goto(f"chrome-extension://{self.id}/popup.html?tab={tab}")
        return popup

    @property
    def worker(self) -> Worker:
        """The extension's own, while it runs."""
        return next(one for one in self.context.service_workers if self.id in one.url)

    async def command(self, page: Page, name: str) -> None:
        """Dispatch a command of the keyboard over a tab, as the browser does when its keys are pressed."""
        await page.bring_to_front()
        await self.worker.evaluate("(name) => chrome.commands.onCommand.dispatch(name)", name)

    async def says(self, page: Page, words: str) -> None:
        """Wait until the popup over a tab says something."""
        popup = await self.popup(page)
        await self.until(lambda: popup.inner_text("body"), f"the popup says “{words}”", lambda said: words in said)
        await popup.close()

    async def settle(self, **settings: Any) -> None:
        """Change settings, as the settings page does."""
        await self.chrome("(settings) => chrome.storage.local.set(settings)", settings)

    async def answer_yes(self, pattern: str) -> None:
        """Say yes beforehand to the browser's question whether the extension may speak to such addresses."""
        page = await self.context.new_page()
        await page.goto(PERMISSIONS)
        await page.evaluate(
            "([id, pattern]) => chrome.developerPrivate.addHostPermission(id, pattern)", [self.id, pattern]
        )
        await page.close()

    async def allow(self, pattern: str) -> None:
        """Give the extension leave to read such pages, as the browser does after a reader's yes."""
        await self.answer_yes(pattern)
        session = await self.context.new_cdp_session(self.desk)
        request = f"chrome.permissions.request({{ origins: [{json.dumps(pattern)}] }})"
        answer = await session.send(
            "Runtime.evaluate",
            {"expression": request, "userGesture": True, "awaitPromise": True, "returnByValue": True},
        )
        await session.detach()
        assert answer["result"].get("value") is True, answer

    async def options(self) -> Page:
        """The settings page."""
        page = await self.context.new_page()
        await page.goto(f"chrome-extension://{self.id}/options.html")
        return page

    async def choose(self, server: str, key: str) -> None:
        """Choose full reading, enter a server and its key in the settings, and allow contact with it."""
        await self.answer_yes("http://127.0.0.1/*")
        page = await self.options()
        await page.get_by_label(words("modeFull")).check()
        await page.get_by_label(words("optionsServer")).fill(server)
        await page.get_by_label(words("optionsInstanceKey"), exact=True).fill(key)
        await page.get_by_role("button", name=words("optionsSave"), exact=True).click()
        await page.get_by_text(words("testInstanceKeyAccepted")).wait_for()
        assert await self.chrome("() => chrome.permissions.contains({ origins: ['http://127.0.0.1/*'] })")
        await page.close()

    async def kill_worker(self) -> None:
        """End the extension's worker at once, as the browser does when it wants the memory."""
        session = await self.context.new_cdp_session(self.desk)
        await session.send("ServiceWorker.enable")
        await session.send("ServiceWorker.stopAllWorkers")
        await session.detach()

    async def workers(self) -> int:
        """How many workers of the extension live; asking wakes none."""
        found: int = await self.chrome(
            "async () => (await chrome.runtime.getContexts({ contextTypes: ['BACKGROUND'] })).length"
        )
        return found

    async def state(self, page: Page) -> str:
        """The kind of a tab's state, as it lies in storage."""
        kind: str = await self.chrome(
            "async (key) => (await chrome.storage.local.get(key))[key]?.state.kind ?? ''", f"tab:{await self.tab(page)}"
        )
        return kind

    async def own(self, page: Page, expression: str) -> Any:
        """Evaluate in the content script's own world."""
        session = await self.context.new_cdp_session(page)
        worlds: list[int] = []

        def created(event: dict[str, Any]) -> None:
            if event["context"]["origin"] == f"chrome-extension://{self.id}":
                worlds.append(event["context"]["id"])

        session.on("Runtime.executionContextCreated", created)
        await session.send("Runtime.enable")
        await until(lambda: _now(worlds), "the content script runs", within_s=WITHIN_S)
        answer = await session.send(
            "Runtime.evaluate",
            {"expression": expression, "contextId": worlds[-1], "returnByValue": True, "awaitPromise": True},
        )
        await session.detach()
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    async def underlined(self, page: Page) -> str:
        """All underlined words in the order they were underlined."""
        words: str = await self.own(page, f"({UNDERLINED})()")
        return words

    async def underlines(self, page: Page, words: Sequence[str]) -> None:
        """Wait until exactly these words are underlined."""
        wanted = "".join(words)
        await self.until(lambda: self.underlined(page), f"“{wanted}” is underlined", lambda seen: seen == wanted)

    async def until(self, ask: Callable[[], Awaitable[T]], what: str, true: Callable[[T], bool] = bool) -> T:
        """Wait until an answer is as wanted."""
        last: list[T] = []

        async def asked() -> bool:
            last[:] = [await ask()]
            return true(last[0])

        try:
            await until(asked, what, within_s=WITHIN_S)
        except AssertionError as error:
            raise AssertionError(f"{error}; answer: {last!r}") from None
        return last[0]

    async def point(self, page: Page, words: str) -> tuple[float, float]:
        """Bring underlined words into sight and put the pointer on them; where that is."""
        box = await page.evaluate(BOX, words)
        assert box is not None, f"“{words}” is not underlined"
        await page.mouse.move(box["x"] - 1, box["y"])
        await page.mouse.move(box["x"], box["y"])
        return box["x"], box["y"]

    async def frame(self, page: Page) -> Frame:
        """The in-page interface, once it is there."""

        async def found() -> Frame | None:
            return next((one for one in page.frames if one.url.partition("#")[0].endswith("/frame.html")), None)

        return await until(found, "the frame is there", within_s=WITHIN_S)

    async def click(self, target: Locator) -> None:
        """Click something in the in-page interface, once the browser gives the pointer to it.

        The interface has a process of its own: for a moment after it has moved, a click at its new place is still given
        to the page.
        """

        async def hovered() -> bool:
            await target.hover()
            found: bool = await target.evaluate("(target) => target.matches(':hover')")
            return found

        await self.until(hovered, "the pointer is on what is to be clicked")
        await target.click()

    async def shot(self, page: Page, name: str) -> bytes:
        """A picture of the page, kept for whoever wants to see."""
        picture = await page.screenshot(caret="initial")
        keep(f"{name}.png", picture)
        return picture

    async def red(self, page: Page, name: str) -> int:
        """How many pixels of the page are red."""
        picture = await self.shot(page, name)
        blank = await self.context.new_page()
        count: int = await blank.evaluate(RED, base64.b64encode(picture).decode())
        await blank.close()
        return count

    async def violations(self, frame: Frame | Page) -> list[str]:
        """What axe-core objects to in a document of the extension."""
        if await frame.evaluate("typeof axe === 'undefined'"):
            await frame.evaluate(f"() => {{ {AXE.read_text()} }}")
        found: list[dict[str, Any]] = await frame.evaluate(
            "async () => (await axe.run({resultTypes: ['violations']})).violations"
        )
        return [json.dumps([one["id"], one["help"], [node["html"] for node in one["nodes"]]]) for one in found]


def keep(name: str, picture: bytes) -> None:
    """Keep a picture for whoever wants to see."""
    ARTIFACTS.mkdir(parents=True, exist_ok=True)
    (ARTIFACTS / name).write_bytes(picture)


async def _now(value: T) -> T:
    return value


@asynccontextmanager
async def reader(package: Path, *flags: str, headless: bool = True) -> AsyncIterator[Reader]:
    """A new browser with the extension just installed."""
    as_root = hasattr(os, "geteuid") and os.geteuid() == 0
    async with async_playwright() as playwright:
        context = await playwright.chromium.launch_persistent_context(
            "",
            executable_path=executable(),
            headless=headless,
            viewport={"width": VIEW["width"], "height": VIEW["height"]},
            chromium_sandbox=not as_root,
            ignore_default_args=["--disable-extensions", "--disable-back-forward-cache"],
            args=[
                *FLAGS,
                f"--disable-extensions-except={package}",
                f"--load-extension={package}",
                "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
                *flags,
            ],
        )
        try:
            context.set_default_timeout(WITHIN_S * 1000)
            yield await _installed(context)
        finally:
            await context.close()


async def _installed(context: BrowserContext) -> Reader:
    async def welcome() -> Page | None:
        return next((page for page in context.pages if page.url.endswith("/welcome.html")), None)

    desk = await until(welcome, "the first-run page opens by itself", within_s=WITHIN_S)
    found = Reader(context, urlsplit(desk.url).netloc, desk, {})

    async def serve(route: Route) -> None:
        request = route.request
        by = "extension" if request.service_worker else "page"
        if by == "page" and not request.is_navigation_request():
            by = "extension" if request.frame.url.startswith("chrome-extension:") else "page"
        found.sent.append(Sent(by, request.method, request.url, request.headers, request.post_data or ""))
        address = request.url.split("#")[0]
        if found.offline:
            await route.abort("internetdisconnected")
        elif (answer := found.answers.get(urlsplit(address).path.rpartition("/")[2])) is not None:
            await route.fulfill(json={"result": {"data": answer}})
        elif urlsplit(address).hostname in found.reachable:
            await route.continue_()
        elif address in found.pages:
            await route.fulfill(
                body=found.pages[address], content_type="text/html; charset=utf-8", headers=found.headers or None
            )
        else:
            await route.fulfill(status=404, body="")

    await context.route(lambda url: url.startswith(("http://", "https://")), serve)
    return found
