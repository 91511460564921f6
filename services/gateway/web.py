"""The gateway's ASGI application, and the routes of FastAPI: health, readiness, the public JSON, documentation.

The extension's options page relies on `/health`, so it says "ok" only while readers can be served.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from functools import partial
from importlib.resources import files
from typing import Final

import structlog
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse, Response
from pydantic import TypeAdapter

from contracts.rpc.public import PublicResult
from kit.cache import Cache
from kit.clock import Clock
from services.gateway.desk.routes import PATH as DESK
from services.gateway.desk.routes import Desk
from services.gateway.domain import MINIMUM_EXTENSION_VERSION, parse_id
from services.gateway.http import PREFLIGHT, Receive, Reply, Scope, Send, respond, with_common_headers, without_body
from services.gateway.invalidation import CacheInvalidation
from services.gateway.jobs.openapi import merge
from services.gateway.jobs.routes import PREFIXES as JOB_PREFIXES
from services.gateway.jobs.routes import JobsApi
from services.gateway.labels import PREFIX as LABELS
from services.gateway.labels import LabelsEndpoint
from services.gateway.openapi import Schema, add_procedures, refuse
from services.gateway.ports import Documents, HealthChecks, Unavailable
from services.gateway.procedure import Procedure
from services.gateway.public.appeals import PATH as APPEALS
from services.gateway.public.appeals import AppealsEndpoint
from services.gateway.public.decision_log import PREFIX as DECISION_LOG
from services.gateway.public.decision_log import DecisionLogEndpoint
from services.gateway.public.described import describe_public
from services.gateway.public.graphql.http import PATH as GRAPHQL
from services.gateway.public.graphql.http import GraphQLEndpoint
from services.gateway.public.lookups import PREFIX as LOOKUPS
from services.gateway.public.lookups import LookupEndpoint
from services.gateway.public.proofs import PREFIX as PROOFS
from services.gateway.public.proofs import ProofsEndpoint
from services.gateway.public.site.routes import PUBLISHERS
from services.gateway.public.stream.endpoint import PATH as EVENTS
from services.gateway.public.stream.endpoint import EventsEndpoint
from services.gateway.public.stream.feed import Feed
from services.gateway.rpc import PREFIX, Rpc

HEALTH_TTL_S: Final = 1.0
"""How long a result of the health checks is reused."""
_REFUSALS: Final = {
    "404": "There is no finished investigation with this id",
    "503": "A server that the gateway needs does not answer; try again",
}
_INVESTIGATION_ID: Final[Schema] = {
    "name": "investigation_id",
    "in": "path",
    "required": True,
    "schema": {"type": "string", "format": "uuid"},
}
"""Parsed in the handler: FastAPI would answer a malformed id with 422 and a body of its own."""
_BROKEN: Final[dict[int | str, Schema]] = {
    503: {"description": "Unavailable; `broken` names what fails", "content": {"application/json": {"schema": {}}}}
}
_PUBLIC: Final = TypeAdapter(PublicResult)
_ASYNCAPI: Final = files("contracts") / "asyncapi.json"

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, eq=False)
class Gateway:
    """Routes procedures, GraphQL and events to their own endpoints, everything else to FastAPI."""

    rpc: Rpc
    graphql: GraphQLEndpoint
    events: EventsEndpoint
    feed: Feed
    invalidation: CacheInvalidation
    shell: FastAPI
    jobs: JobsApi | None
    labels: LabelsEndpoint | None
    _: KW_ONLY
    decision_log: DecisionLogEndpoint
    lookups: LookupEndpoint
    appeals: AppealsEndpoint
    proofs: ProofsEndpoint
    desk: Desk | None
    catalogue: bool

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if self.labels is not None and (scope["type"] == "websocket" or scope["path"].startswith(LABELS)):
            await self.labels(scope, receive, send)
        elif scope["path"] == APPEALS:
            await self.appeals(scope, receive, send)
        elif scope["path"].startswith(PROOFS):
            await self.proofs(scope, receive, send)
        elif self.desk is not None and f"{scope['path']}/".startswith(f"{DESK}/"):
            await self.desk(scope, receive, send)
        elif self.jobs is not None and self._is_of_jobs(scope["path"]):
            await self.jobs(scope, receive, send)
        elif scope["method"] == "OPTIONS":
            await respond(send, Reply(204, headers=PREFLIGHT), self.rpc.cors(scope))
        elif scope["path"].startswith(PREFIX):
            await self.rpc(scope, receive, send)
        elif scope["path"].startswith(DECISION_LOG):
            answer = without_body(send) if scope["method"] == "HEAD" else send
            await self.decision_log(scope, receive, with_common_headers(answer))
        elif scope["path"].startswith(LOOKUPS):
            await self.lookups(scope, receive, send)
        elif scope["path"] == GRAPHQL:
            await self.graphql(scope, receive, send)
        elif scope["path"] == EVENTS:
            await self.events(scope, receive, send)
        elif scope["method"] == "HEAD":
            await self.shell({**scope, "method": "GET"}, receive, with_common_headers(without_body(send)))
        else:
            await self.shell(scope, receive, with_common_headers(send))

    def _is_of_jobs(self, path: str) -> bool:
        return path.startswith(JOB_PREFIXES) and not (self.catalogue and path.startswith(PUBLISHERS))


def shell(
    documents: Documents,
    checks: HealthChecks,
    clock: Clock,
    table: Mapping[str, Procedure],
    jobs: JobsApi | None = None,
    *,
    catalogue: bool = False,
) -> FastAPI:
    """The FastAPI application. Its own documentation pages are off: they load scripts from other hosts."""
    health_cache: Cache[str, tuple[str, ...]] = Cache(clock, capacity=2, ttl_s=HEALTH_TTL_S)
    broken_now = partial(health_cache.get_or_make, "broken", checks.find_failing)
    lacking_now = partial(health_cache.get_or_make, "lacking", checks.find_degraded)
    app = FastAPI(title="OpenErrata", version="1", docs_url=None, redoc_url=None, redirect_slashes=False)

    @app.get("/health", tags=["service"], responses=_BROKEN)
    async def health() -> JSONResponse:
        """Whether readers can be served now."""
        broken = list(await broken_now())
        body = {
            "status": "unavailable" if broken else "ok",
            "minimumSupportedExtensionVersion": MINIMUM_EXTENSION_VERSION,
            **({"broken": broken} if broken else {}),
        }
        return JSONResponse(body, 503 if broken else 200, {"cache-control": "no-store"})

    @app.get("/ready", tags=["service"], responses=_BROKEN)
    async def ready() -> JSONResponse:
        """Whether everything that this gateway needs works, so that a load balancer should prefer it."""
        broken = [name for found in await asyncio.gather(broken_now(), lacking_now()) for name in found]
        return JSONResponse({"ready": not broken, "broken": broken}, 503 if broken else 200)

    @app.get("/asyncapi.json", tags=["service"])
    async def asyncapi() -> Response:
        """All events, as an AsyncAPI document; `/events` serves those that are public."""
        headers = {"cache-control": "public, max-age=3600"}
        return Response(_ASYNCAPI.read_bytes(), media_type="application/json", headers=headers)

    @app.get(
        "/investigations/{investigation_id}.json",
        tags=["public"],
        response_model=PublicResult,
        responses={int(status): described for status, described in refuse(_REFUSALS).items()},
        openapi_extra={"parameters": [_INVESTIGATION_ID]},
    )
    async def investigation(request: Request) -> Response:
        """One finished investigation: the post, the findings and their sources."""
        parsed_id = parse_id(request.path_params["investigation_id"])
        result = None if parsed_id is None else await documents.document(parsed_id)
        if result is None:
            return JSONResponse({"message": f"{_REFUSALS['404']}."}, 404)
        body = _PUBLIC.dump_json(result, by_alias=True)
        return Response(body, media_type="application/json", headers={"cache-control": "public, max-age=60"})

    @app.exception_handler(Unavailable)
    async def unavailable(request: Request, error: Exception) -> JSONResponse:
        log.warning("unavailable", path=request.url.path, reason=str(error))
        return JSONResponse({"message": "The service cannot answer now; please try again."}, 503)

    @app.exception_handler(Exception)
    async def internal_error(request: Request, error: Exception) -> JSONResponse:
        return JSONResponse({"message": "Internal error"}, 500)

    generate = app.openapi

    def openapi() -> Schema:
        if app.openapi_schema is None:
            document = describe_public(add_procedures(generate(), table, PREFIX), publishers=catalogue)
            app.openapi_schema = document if jobs is None else merge(document, jobs.openapi())
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]  # FastAPI's documented way to extend the document
    return app
