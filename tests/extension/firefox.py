"""Firefox over WebDriver BiDi, its own remote protocol: no driver stands between.

Only what these tests need: install, open a page under its true address, move the pointer, look.
"""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import os
import re
import shutil
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from websockets.asyncio.client import ClientConnection, connect

from kit.embedded.privileges import make_child_hook
from tests.support.system import until

NAMES: Final = ("firefox-esr", "firefox")
WITHIN_S: Final = 60.0
LISTENING: Final = re.compile(r"WebDriver BiDi listening on (ws://\S+)")
PREFERENCES: Final[Mapping[str, object]] = {
    "app.update.enabled": False,
    "browser.aboutwelcome.enabled": False,
    "browser.safebrowsing.malware.enabled": False,
    "browser.safebrowsing.phishing.enabled": False,
    "browser.shell.checkDefaultBrowser": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "extensions.update.enabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "network.proxy.type": 1,
    "network.proxy.http": "127.0.0.1",
    "network.proxy.http_port": 9,
    "network.proxy.ssl": "127.0.0.1",
    "network.proxy.ssl_port": 9,
    "network.proxy.no_proxies_on": "127.0.0.1",
    "toolkit.telemetry.enabled": False,
    "xpinstall.signatures.required": False,
}


@dataclass
class Firefox:
    """A running Firefox. `pages` are what the sites serve."""

    socket: ClientConnection
    pages: dict[str, str] = field(default_factory=dict)
    sent: list[str] = field(default_factory=list)
    _numbers: Any = field(default_factory=lambda: itertools.count(1))
    _waiting: dict[int, asyncio.Future[dict[str, Any]]] = field(default_factory=dict)
    _served: set[asyncio.Task[None]] = field(default_factory=set)

    async def do(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command and its answer."""
        number = next(self._numbers)
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        await self.socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        async with asyncio.timeout(WITHIN_S):
            said = await answer
        assert said["type"] == "success", said
        result: dict[str, Any] = said["result"]
        return result

    async def listen(self) -> None:
        """Give every answer to whoever waits for it, and every intercepted request its page."""
        async for message in self.socket:
            said = json.loads(message)
            if said.get("id") in self._waiting:
                self._waiting.pop(said["id"]).set_result(said)
            elif said.get("method") == "network.beforeRequestSent" and said["params"]["isBlocked"]:
                task = asyncio.create_task(self._serve(said["params"]["request"]))
                self._served.add(task)
                task.add_done_callback(self._served.discard)

    async def _serve(self, request: dict[str, Any]) -> None:
        address = request["url"].split("#")[0]
        self.sent.append(address)
        if address.startswith("http://127.0.0.1:"):
            await self.do("network.continueRequest", request=request["request"])
            return
        html = self.pages.get(address)
        await self.do(
            "network.provideResponse",
            request=request["request"],
            statusCode=404 if html is None else 200,
            headers=[{"name": "content-type", "value": {"type": "string", "value": "text/html; charset=utf-8"}}],
            body={"type": "string", "value": html or ""},
        )

    async def open(self, url: str) -> str:
        """A new tab at an address."""
        tab: str = (await self.do("browsingContext.create", type="tab"))["context"]
        await self.do("browsingContext.setViewport", context=tab, viewport={"width": 1000, "height": 700})
        await self.do("browsingContext.navigate", context=tab, url=url, wait="complete")
        return tab

    async def evaluate(self, tab: str, expression: str) -> Any:
        """The value of an expression, by way of JSON."""
        said = await self.do(
            "script.evaluate",
            expression=f"(async () => JSON.stringify(await ({expression})))()",
            target={"context": tab},
            awaitPromise=True,
        )
        assert said["type"] == "success", said
        return json.loads(said["result"].get("value", "null"))

    async def welcome(self) -> str:
        """The first-run page of the extension, which opens by itself."""

        async def found() -> str | None:
            tree = (await self.do("browsingContext.getTree"))["contexts"]
            return next((one["context"] for one in tree if one["url"].endswith("/welcome.html")), None)

        return await until(found, "the first-run page opens by itself", within_s=WITHIN_S)

    async def point(self, tab: str, x: float, y: float, press: bool = False) -> None:
        """Move the pointer, and press there."""
        actions = [{"type": "pointerMove", "x": round(x) + by, "y": round(y)} for by in (-1, 0)]
        if press:
            actions += [{"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}]
        pointer = {"type": "pointer", "id": "mouse", "actions": actions}
        await self.do("input.performActions", context=tab, actions=[pointer])

    async def shot(self, tab: str) -> bytes:
        """A picture of what the tab shows, as PNG."""
        return base64.b64decode((await self.do("browsingContext.captureScreenshot", context=tab))["data"])


def executable() -> str:
    """The Firefox to drive."""
    given = os.environ.get("FIREFOX")
    found = next(filter(None, map(shutil.which, [given] if given else NAMES)), None)
    assert found, "these tests need Firefox 146 or newer: install the package firefox-esr, or set FIREFOX to one"
    return found


@asynccontextmanager
async def firefox(package: Path, folder: Path, pages: dict[str, str]) -> AsyncIterator[Firefox]:
    """A new Firefox with the extension just installed; the web is `pages`, and loopback."""
    profile, log = folder / "profile", folder / "firefox.log"
    profile.mkdir(parents=True)
    preferences = "".join(
        f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in PREFERENCES.items()
    )
    (profile / "user.js").write_text(preferences)
    with log.open("wb") as sink:
        process = await asyncio.create_subprocess_exec(
            executable(),
            *("--headless", "--no-remote", "--profile", str(profile), "--remote-debugging-port", "0"),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=sink,
            stderr=sink,
            env={"HOME": str(folder), "PATH": "/usr/bin:/bin", "MOZ_HEADLESS": "1", "LANG": "C.UTF-8"},
            preexec_fn=make_child_hook(signal.SIGKILL, None),
        )
    try:

        async def listening() -> str | None:
            assert process.returncode is None, log.read_text()[-2000:]
            found = LISTENING.search(log.read_text(errors="replace"))
            return found and found[1]

        address = await until(listening, "Firefox listens", within_s=WITHIN_S)
        async with connect(f"{address}/session", max_size=None, proxy=None) as socket:
            running = Firefox(socket, pages)
            hearing = asyncio.create_task(running.listen())
            await running.do("session.new", capabilities={})
            await running.do("session.subscribe", events=["network.beforeRequestSent"])
            await running.do("network.addIntercept", phases=["beforeRequestSent"], urlPatterns=_sites())
            await running.do("webExtension.install", extensionData={"type": "path", "path": str(package)})
            try:
                yield running
            finally:
                hearing.cancel()
                with suppress(asyncio.CancelledError):
                    await hearing
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


def _sites() -> list[dict[str, str]]:
    return [{"type": "pattern", "protocol": "https"}]
