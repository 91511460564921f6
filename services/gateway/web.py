"""All of the gateway that is not a procedure: health, readiness, the public JSON, documentation.

`/health` tells the truth: the extension's options page believes it, so it says "ok" only while readers can be served.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from importlib.resources import files
from typing import Annotated, Any, Final

from fastapi import FastAPI, Path, Request
from fastapi.responses import JSONResponse, Response
from pydantic import TypeAdapter

from contracts.rpc.public import PublicResult
from kit.flight import SingleFlight
from services.gateway.domain import MINIMUM_EXTENSION_VERSION, parse_id
from services.gateway.forgetting import Forgetting
from services.gateway.graphql.http import PATH as GRAPHQL
from services.gateway.graphql.http import GraphQLEndpoint
from services.gateway.http import PREFLIGHT, Receive, Reply, Scope, Send, respond, with_common_headers, without_body
from services.gateway.memory import Memory
from services.gateway.openapi import document
from services.gateway.ports import Clock, Reads, Unavailable, Vitals
from services.gateway.procedures import Procedure
from services.gateway.rpc import PREFIX, Rpc
from services.gateway.stream.endpoint import PATH as EVENTS
from services.gateway.stream.endpoint import EventsEndpoint
from services.gateway.stream.feed import Feed

VITALS_TTL_S: Final = 1.0
_PUBLIC: Final = TypeAdapter(PublicResult)
_ASYNCAPI: Final = files("contracts") / "asyncapi.json"


class Pulse:
    """What is broken, asked at most once a second however many ask."""

    def __init__(self, look: Callable[[], Awaitable[tuple[str, ...]]], clock: Clock) -> None:
        self._ask = look
        self._seen: Memory[str, tuple[str, ...]] = Memory(clock, capacity=1, ttl_s=VITALS_TTL_S)
        self._flights: SingleFlight[str, tuple[str, ...]] = SingleFlight()

    async def broken(self) -> tuple[str, ...]:
        """Names of what does not answer."""
        seen = self._seen.get("")
        return await self._flights.run("", self._look) if seen is None else seen

    async def _look(self) -> tuple[str, ...]:
        seen = await self._ask()
        self._seen.put("", seen)
        return seen


class Gateway:
    """The whole gateway as one ASGI application: procedures, GraphQL and events by hand, the rest by the shell."""

    def __init__(
        self,
        rpc: Rpc,
        graphql: GraphQLEndpoint,
        events: EventsEndpoint,
        feed: Feed,
        forgetting: Forgetting,
        shell: FastAPI,
    ) -> None:
        self._rpc = rpc
        self._graphql = graphql
        self.events = events
        self.feed = feed
        self.forgetting = forgetting
        self.shell = shell

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.shell(scope, receive, send)
        elif scope["method"] == "OPTIONS":
            await respond(send, Reply(204, headers=PREFLIGHT), self._rpc.cors(scope))
        elif scope["path"].startswith(PREFIX):
            await self._rpc(scope, receive, send)
        elif scope["path"] == GRAPHQL:
            await self._graphql(scope, receive, send)
        elif scope["path"] == EVENTS:
            await self.events(scope, receive, send)
        elif scope["method"] == "HEAD":
            await self.shell({**scope, "method": "GET"}, receive, with_common_headers(without_body(send)))
        else:
            await self.shell(scope, receive, with_common_headers(send))


def shell(reads: Reads, vitals: Vitals, clock: Clock, table: Mapping[str, Procedure]) -> FastAPI:
    """The documented routes; the pages come behind them. A page of FastAPI's own would load scripts from elsewhere."""
    vital, helpful = Pulse(vitals.broken, clock), Pulse(vitals.lacking, clock)
    app = FastAPI(title="OpenErrata", version="1", docs_url=None, redoc_url=None)

    @app.get("/health", tags=["service"])
    async def health() -> JSONResponse:
        """Whether readers can be served now."""
        broken = list(await vital.broken())
        body = {
            "status": "unavailable" if broken else "ok",
            "minimumSupportedExtensionVersion": MINIMUM_EXTENSION_VERSION,
            **({"broken": broken} if broken else {}),
        }
        return JSONResponse(body, 503 if broken else 200, {"cache-control": "no-store"})

    @app.get("/ready", tags=["service"])
    async def ready() -> JSONResponse:
        """Whether a load balancer should send requests here, rather than to a gateway that can take everything."""
        broken = [name for found in await asyncio.gather(vital.broken(), helpful.broken()) for name in found]
        return JSONResponse({"ready": not broken, "broken": broken}, 503 if broken else 200)

    @app.get("/asyncapi.json", tags=["service"])
    async def asyncapi() -> Response:
        """All events, as an AsyncAPI document; `/events` serves those that are public."""
        headers = {"cache-control": "public, max-age=3600"}
        return Response(_ASYNCAPI.read_bytes(), media_type="application/json", headers=headers)

    @app.get("/investigations/{investigation_id}.json", tags=["public"], response_model=PublicResult)
    async def investigation(investigation_id: Annotated[str, Path(max_length=64)]) -> Response:
        """One finished investigation: post, findings with their sources, and what they rest on."""
        known = parse_id(investigation_id)
        result = None if known is None else await reads.public(known)
        if result is None:
            return JSONResponse({"message": "There is no finished investigation with this id."}, 404)
        body = _PUBLIC.dump_json(result, by_alias=True)
        return Response(body, media_type="application/json", headers={"cache-control": "public, max-age=60"})

    @app.exception_handler(Unavailable)
    async def unavailable(request: Request, error: Exception) -> JSONResponse:
        return JSONResponse({"message": "The service cannot answer now; please try again."}, 503)

    @app.exception_handler(Exception)
    async def bug(request: Request, error: Exception) -> JSONResponse:
        return JSONResponse({"message": "Internal error"}, 500)

    generate = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = document(generate(), table, PREFIX)
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]  # FastAPI's documented way to extend the document
    return app
