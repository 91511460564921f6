"""The job API as an application of its own: every answer, errors included, follows its conventions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Final

import structlog
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from contracts.jobs.answers import Estimate, Health, JobAccepted, JobFinished, JobRepeated, JobView
from contracts.jobs.credit import Credit
from contracts.jobs.receipts import PublicKeys
from contracts.jobs.requests import AnalyzeRequest, ConfigureRequest
from contracts.jobs.rights import AppliedWithdrawals, Withdrawal, WithdrawalRequest
from contracts.jobs.stages import Configuration, Configured
from kit.clock import Clock
from kit.errors import locate
from services.gateway.cors import JOB_HEADERS, JOB_PREFLIGHT
from services.gateway.http import (
    BodyTimeouts,
    BodyTooLarge,
    ClientDisconnected,
    Message,
    Receive,
    Reply,
    Scope,
    Send,
    respond,
    without_body,
)
from services.gateway.jobs.account_routes import AccountRoutes
from services.gateway.jobs.catalogue import Entries
from services.gateway.jobs.catalogue_routes import CatalogueRoutes
from services.gateway.jobs.catalogue_table import list_catalogue_routes
from services.gateway.jobs.credit import Ledger
from services.gateway.jobs.exchange import Exchange, Reception
from services.gateway.jobs.intake import Intake
from services.gateway.jobs.job_routes import JobRoutes
from services.gateway.jobs.memory import Memory
from services.gateway.jobs.openapi import (
    EVERYWHERE,
    OPEN,
    SECURED,
    WITH_BODY,
    Answer,
    describe,
    describe_report,
    describe_result,
    describe_stream,
)
from services.gateway.jobs.ports import CatalogueReads, JobLog, Memos, ReceiptKeys, Words
from services.gateway.jobs.problems import Problem
from services.gateway.jobs.rate_policies import RateLimit
from services.gateway.jobs.reading import Jobs
from services.gateway.jobs.request_headers import VERSIONS
from services.gateway.jobs.rights_routes import RightsRoutes
from services.gateway.jobs.signals import Signals
from services.gateway.jobs.stages import StageSettings
from services.gateway.keys import InstanceKeys
from services.gateway.metrics import Metrics
from services.gateway.openapi import Schema
from services.gateway.ports import Unavailable

RECEIPT_KEYS: Final = "/.well-known/openerrata-receipts.json"
PREFIXES: Final = ("/v1/", "/admin/v1/", RECEIPT_KEYS)
_ARTICLE: Final = (*WITH_BODY, "INPUT_TOO_LONG", "NO_WEBHOOK_SECRET")
_LIMITS: Final = ("CREDIT_LIMIT_REACHED", "EXTRACTION_QUOTA", "TOO_MANY_OPEN_JOBS")
_ANALYZE: Final = (*_ARTICLE, "INVALID_IDEMPOTENCY_KEY", *_LIMITS)
_JOB: Final = (*SECURED, "NOT_FOUND")
_RESULT: Final = (*_JOB, "NOT_READY", "NO_RESULT", "EXPIRED")

Handler = Callable[[Request], Awaitable[Response]]

log: structlog.stdlib.BoundLogger = structlog.get_logger("jobs")


@dataclass(frozen=True, slots=True)
class Limits:
    """The rate limits of the routes."""

    jobs: RateLimit
    estimates: RateLimit
    reads: RateLimit
    rights: RateLimit
    changes: RateLimit


@dataclass(frozen=True, slots=True)
class JobDependencies:
    """The dependencies of the job API. Units: a job ends within `job_s` seconds; see `JobRoutes` for the others."""

    log: JobLog
    words: Words
    memos: Memos
    stages: StageSettings
    keys: ReceiptKeys
    catalogue: CatalogueReads
    job_s: float
    heartbeat_s: float
    stall_s: float


class JobsApi:
    """Serves the routes of the job API as an ASGI application."""

    def __init__(
        self,
        keys: InstanceKeys,
        dependencies: JobDependencies,
        limits: Limits,
        clock: Clock,
        metrics: Metrics,
        *,
        body_timeouts: BodyTimeouts,
        public_url: str,
        catalogue: bool,
        address: Callable[[Scope], str],
    ) -> None:
        self._clock = clock
        self._metrics = metrics
        self.signals = Signals(dependencies.log)
        reception = Reception(keys, body_timeouts, public_url)
        ledger = Ledger(dependencies.log, clock, job_s=dependencies.job_s)
        memory = Memory(dependencies.log, dependencies.words, dependencies.memos)
        intake = Intake(
            dependencies.log, dependencies.words, ledger, memory, dependencies.stages, clock, job_s=dependencies.job_s
        )
        self.entries = Entries(dependencies.log, dependencies.words, clock)
        self.reading = Jobs(dependencies.log, dependencies.words, self.signals, clock)
        self.ledger = ledger
        self._jobs = JobRoutes(
            reception,
            intake,
            self.reading,
            limits.jobs,
            limits.reads,
            heartbeat_s=dependencies.heartbeat_s,
            stall_s=dependencies.stall_s,
        )
        accounts = AccountRoutes(
            reception, intake, ledger, dependencies.stages, dependencies.keys, limits.estimates, limits.reads
        )
        rights = RightsRoutes(
            reception, dependencies.log, dependencies.words, clock, limits.rights, limits.reads, address
        )
        self._described: list[tuple[Route, Schema]] = []
        self._add_jobs(self._jobs)
        self._add_accounts(accounts)
        self._add_rights(rights)
        if catalogue:
            routes = CatalogueRoutes(
                reception, self.entries, dependencies.catalogue, limits.reads, limits.changes, address, clock
            )
            for method, path, handler, description in list_catalogue_routes(routes):
                self._add(method, path, handler, description)
        errors = (Problem, Unavailable, HTTPException, BodyTooLarge, TimeoutError, ClientDisconnected, Exception)
        self._paths: dict[object, str] = {route.endpoint: route.path for route, _ in self._described}
        self._app = Starlette(
            routes=[route for route, _ in self._described], exception_handlers=dict.fromkeys(errors, reception.fail)
        )
        self._app.router.redirect_slashes = False

    async def stop(self) -> None:
        """End streams and waits, before the server waits for open requests."""
        await self._jobs.stop()
        self.signals.stop()

    def openapi(self) -> Schema:
        """The routes as an OpenAPI document.

        FastAPI only writes the document: serving by its routes would slow the start, and each request.
        """
        app = FastAPI(title="OpenErrata", version=VERSIONS[0])
        for route, description in self._described:
            app.add_api_route(
                route.path,
                route.endpoint,
                methods=list((route.methods or set()) - {"HEAD"}),
                tags=["jobs"],
                **description,
            )
        return app.openapi()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["method"] == "OPTIONS":
            await respond(send, Reply(204, headers=JOB_PREFLIGHT), JOB_HEADERS)
            return
        began, exchange, status = perf_counter(), Exchange(self._clock.new_id()), 500

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message = {**message, "headers": [*message["headers"], *exchange.headers()]}
            await send(message)

        scope = {**scope, "state": {**scope.get("state", {}), "exchange": exchange}}
        if scope["method"] == "HEAD":
            scope["method"], send = "GET", without_body(send)
        try:
            await self._app(scope, receive, sending)
        except Exception as error:  # was answered by `fail`
            log.error("internal error", correlation=str(exchange.correlation), at=locate(error))
        finally:
            route = self._paths.get(scope.get("endpoint"), "unknown")
            self._metrics.request(route, status, perf_counter() - began)

    def _add(self, method: str, path: str, handler: Handler, description: Schema) -> None:
        self._described.append((Route(path, handler, methods=[method]), description))

    def _add_jobs(self, routes: JobRoutes) -> None:
        job = "/v1/jobs/{job_id}"
        analyze = describe(
            Answer(202, JobAccepted),
            Answer(200, JobFinished | JobRepeated),
            problems=_ANALYZE,
            body=AnalyzeRequest,
            takes=("Idempotency-Key", "Prefer"),
            conflict=True,
        )
        self._add("POST", "/v1/analyze", routes.analyze, analyze)
        self._add("GET", job, routes.show, describe(Answer(200, JobView), problems=_JOB, takes=("job_id", "Prefer")))
        self._add("DELETE", job, routes.cancel, describe(Answer(204, None), problems=_JOB, takes=("job_id",)))
        self._add("GET", f"{job}/result", routes.result, describe_result(_RESULT))
        self._add("GET", f"{job}/report", routes.report, describe_report(_RESULT))
        self._add("GET", f"{job}/events", routes.events, describe_stream(_JOB))

    def _add_accounts(self, routes: AccountRoutes) -> None:
        self._add("GET", "/v1/health", routes.health, describe(Answer(200, Health), problems=EVERYWHERE, secured=False))
        receipt_keys = describe(Answer(200, PublicKeys), problems=EVERYWHERE, secured=False)
        self._add("GET", RECEIPT_KEYS, routes.receipt_keys, receipt_keys)
        estimate = describe(Answer(200, Estimate), problems=_ARTICLE, body=AnalyzeRequest)
        self._add("POST", "/v1/estimate", routes.estimate, estimate)
        self._add("GET", "/v1/user/credit", routes.credit, describe(Answer(200, Credit), problems=SECURED))
        configure = describe(Answer(200, Configured), problems=(*WITH_BODY, "UNKNOWN_PROVIDER"), body=ConfigureRequest)
        self._add("POST", "/admin/v1/llm/configure", routes.configure, configure)
        configuration = describe(Answer(200, Configuration), problems=SECURED)
        self._add("GET", "/admin/v1/llm/config", routes.configuration, configuration)

    def _add_rights(self, routes: RightsRoutes) -> None:
        invalidate = describe(Answer(202, Withdrawal), problems=OPEN, body=WithdrawalRequest, secured=False)
        self._add("POST", "/v1/rights/invalidate", routes.invalidate, invalidate)
        withdrawals = describe(Answer(200, AppliedWithdrawals), problems=(*EVERYWHERE, "RATE_LIMITED"), secured=False)
        self._add("GET", "/v1/rights/withdrawals", routes.list_applied, withdrawals)
