"""A browser at the desk, as far as forms and cookies go."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import httpx

from tests.unit.gateway.fakes import ADDRESS, Bench

TOKEN: Final = re.compile(r'name="token" value="([^"]+)"')


class Browser:
    """Opens pages and sends forms, each with the token of the last page that had one."""

    def __init__(self, bench: Bench, origin: str = "http://gateway") -> None:
        self.origin = origin
        transport = httpx.ASGITransport(app=bench.app, raise_app_exceptions=False, client=(ADDRESS, 1))
        self.http = httpx.AsyncClient(transport=transport, base_url=origin)
        self.token = ""

    async def get(self, path: str) -> httpx.Response:
        return self._note(await self.http.get(path))

    async def post(self, path: str, form: Mapping[str, object], **headers: str) -> httpx.Response:
        sent = {"origin": self.origin, "sec-fetch-site": "same-origin"} | {
            name.replace("_", "-"): value for name, value in headers.items()
        }
        data = {"token": self.token} | {name: str(value) for name, value in form.items()}
        return self._note(await self.http.post(path, data=data, headers={k: v for k, v in sent.items() if v}))

    async def log_in(self, key: str) -> httpx.Response:
        await self.get("/desk/login")
        response = await self.post("/desk/login", {"key": key})
        if response.status_code == 303:
            await self.get("/desk")
        return response

    def _note(self, response: httpx.Response) -> httpx.Response:
        found = TOKEN.search(response.text)
        self.token = found[1] if found else self.token
        return response
