"""A small job API on a real socket, for tests of its clients: it follows contracts/jobs, and misbehaves on demand.

Jobs end when somebody waits for them or reads their events; their result is one that the auditor's own code signed.
"""

from __future__ import annotations

import json
import threading
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final
from uuid import UUID

from pydantic import ValidationError

from analyses.claims.report import write_report
from contracts.jobs.answers import Health, JobStatus
from contracts.jobs.ids import format_job_id
from contracts.jobs.problems import ProblemCode, describe_credit_limit, describe_problem
from contracts.jobs.receipts import PublicKeys
from contracts.jobs.requests import AnalyzeRequest
from contracts.jobs.values import Document
from tests.support.assessing import KEY
from tests.support.factories import NOW
from tests.support.job_answers import (
    CORRECTIONS,
    EVENTS,
    FakeJob,
    accepted,
    credit,
    estimate,
    repeated,
    result_of,
    view_of,
)

API_KEY: Final = "oe_key_of_alice"
LIMITS: Final = {"RateLimit-Policy": '"jobs";q=60;w=3600', "RateLimit": '"jobs";r=59;t=60'}


@dataclass(frozen=True)
class Fault:
    """What happens to one request instead of its answer. `carried_out`: only the answer is lost."""

    status: int = 0
    """0: the connection is cut."""
    code: ProblemCode = "SERVICE_UNAVAILABLE"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    carried_out: bool = False
    is_slow: bool = False
    """Half the answer comes, and then nothing."""


class JobServer:
    """The state of the server, and what it was asked."""

    def __init__(self) -> None:
        self.address = ""
        self.jobs: dict[str, FakeJob] = {}
        self.keys: dict[str, tuple[str, bytes]] = {}
        self.asked: list[tuple[str, str, Mapping[str, str]]] = []
        self.faults: dict[str, deque[Fault]] = {}
        self.cuts: deque[int] = deque()
        """After how many events each of the next streams is cut."""
        self.ends_as: JobStatus = "SUCCEEDED"
        self.verdict = ""
        self.do_jobs_end = True
        """Whether jobs end at all."""
        self.waits = True
        """Whether `Prefer: wait` is applied."""
        self.stalls = threading.Event()
        """Set once an answer is slow."""
        self.closing = threading.Event()

    def fail(self, route: str, *faults: Fault) -> None:
        """Let the next requests of a route such as `POST /v1/analyze` fail like this. A job's id is written `{id}`."""
        self.faults.setdefault(route, deque()).extend(faults)

    def count(self, route: str) -> int:
        """How often a route was asked."""
        return Counter(f"{method} {path}" for method, path, _ in self.asked)[route]

    def headers(self, route: str) -> list[Mapping[str, str]]:
        """The headers of each request of a route."""
        return [headers for method, path, headers in self.asked if f"{method} {path}" == route]

    def add(self, request: AnalyzeRequest) -> FakeJob:
        """A new job."""
        job = FakeJob(format_job_id(UUID(int=0x10B + len(self.jobs))), request)
        self.jobs[job.id] = job
        return job


@contextmanager
def job_server() -> Iterator[JobServer]:
    """A server on a port of its own."""
    state = JobServer()

    class Handler(_Handler):
        server_state = state

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    state.address = f"http://127.0.0.1:{http.server_port}"
    thread = threading.Thread(target=http.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield state
    finally:
        state.closing.set()
        http.shutdown()
        http.server_close()
        thread.join()


class _Refused(Exception):
    def __init__(self, code: ProblemCode, **headers: str) -> None:
        self.code = code
        self.headers = headers


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_state: JobServer

    def log_message(self, *_: object) -> None:
        """Print nothing."""

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def do_DELETE(self) -> None:
        self._serve()

    def _serve(self) -> None:
        state = self.server_state
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        path, _, _ = self.path.partition("?")
        parts = path.split("/")
        job_id = parts[3] if path.startswith("/v1/jobs/") else ""
        route = path.replace(job_id, "{id}") if job_id else path
        state.asked.append((self.command, route, {name.lower(): value for name, value in self.headers.items()}))
        faults = state.faults.get(f"{self.command} {route}")
        fault = faults.popleft() if faults else None
        if fault is not None and not fault.carried_out:
            self._misbehave(fault)
            return
        try:
            self._answer(route, job_id, body, fault)
        except _Refused as refused:
            self._problem(refused.code, refused.headers)

    def _answer(self, route: str, job_id: str, body: bytes, fault: Fault | None) -> None:
        state = self.server_state
        if route == "/v1/health":
            self._document(200, Health(status="ok"))
            return
        if route == "/.well-known/openerrata-receipts.json":
            self._document(200, PublicKeys(keys=(KEY.public,)))
            return
        if route.startswith("/trpc/"):
            name = route.rpartition("/")[2]
            self._send(200, json.dumps({"result": {"data": CORRECTIONS[name]}}).encode(), "application/json")
            return
        if self.headers.get("authorization") != f"Bearer {API_KEY}":
            raise _Refused("UNAUTHENTICATED")
        if route in ("/v1/analyze", "/v1/estimate"):
            try:
                request = AnalyzeRequest.model_validate_json(body)
            except ValidationError:
                raise _Refused("VALIDATION_ERROR") from None
            if route == "/v1/estimate":
                self._document(200, estimate())
                return
            self._analyze(request, body, fault)
            return
        if route == "/v1/user/credit":
            self._document(200, credit())
            return
        job = state.jobs.get(job_id)
        if job is None:
            raise _Refused("NOT_FOUND")
        self._job(job, route.removeprefix("/v1/jobs/{id}"))

    def _analyze(self, request: AnalyzeRequest, body: bytes, fault: Fault | None) -> None:
        state = self.server_state
        key = (self.headers.get("idempotency-key") or request.client.request_id or "").strip('"')
        known, digest = state.keys.get(key), sha256(body).digest()
        if known is not None and known[1] != digest:
            self._problem("VALIDATION_ERROR", {}, status=409)
            return
        job = state.jobs[known[0]] if known is not None else state.add(request)
        if key:
            state.keys[key] = (job.id, digest)
        if fault is not None:
            self._misbehave(fault)
            return
        if known is not None:
            self._document(200, repeated(job), {"Idempotent-Replayed": "true"})
            return
        self._document(202, accepted(job), {"Location": f"/v1/jobs/{job.id}", "Retry-After": "2"})

    def _job(self, job: FakeJob, part: str) -> None:
        state = self.server_state
        if self.command == "DELETE":
            job.status = "CANCELED" if job.status in ("QUEUED", "RUNNING") else job.status
            self._send(204, b"", "")
            return
        if part == "/events":
            self._events(job)
            return
        applied = {}
        if part == "":
            prefers = state.waits and "wait=" in self.headers.get("prefer", "")
            if prefers:
                applied = {"Preference-Applied": self.headers["prefer"]}
            if state.do_jobs_end and job.status in ("QUEUED", "RUNNING"):
                job.status = state.ends_as if prefers or job.status == "RUNNING" else "RUNNING"
            self._document(200, view_of(job), applied)
            return
        if job.status in ("QUEUED", "RUNNING"):
            raise _Refused("NOT_READY", **{"Retry-After": "1"})
        if job.status != "SUCCEEDED":
            raise _Refused("NO_RESULT")
        result = result_of(job.id, state.verdict)
        if part == "/result":
            self._send(200, json.dumps(result).encode(), "application/json")
        else:
            self._send(200, write_report(result).encode(), "text/markdown; charset=utf-8")

    def _events(self, job: FakeJob) -> None:
        state = self.server_state
        behind = int(self.headers.get("last-event-id", "10"))
        left = state.cuts.popleft() if state.cuts else len(EVENTS)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(b": heartbeat\n\n")
        for number, (name, data) in enumerate(EVENTS, 11):
            if number <= behind:
                continue
            if left == 0 or (name == "ended" and not state.do_jobs_end):
                break
            left -= 1
            if name == "ended":
                job.status = state.ends_as
                data = {**data, "status": job.status}
            said = json.dumps({"job_id": job.id, **data} if name == "queued" else data)
            self.wfile.write(f"id: {number}\nevent: {name}\ndata: {said}\n\n".encode())
        self.close_connection = True

    def _misbehave(self, fault: Fault) -> None:
        self.close_connection = True
        if fault.is_slow:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", "100")
            self.end_headers()
            self.wfile.write(b"{")
            self.wfile.flush()
            self.server_state.stalls.set()
            self.server_state.closing.wait(10)
        elif fault.body is not None:
            self._send(fault.status, fault.body, "text/html", fault.headers)
        elif fault.status:
            self._problem(fault.code, fault.headers, status=fault.status)

    def _problem(self, code: ProblemCode, headers: Mapping[str, str], status: int | None = None) -> None:
        origin, correlation = self.server_state.address, UUID(int=7)
        if code == "CREDIT_LIMIT_REACHED":
            body: Document = describe_credit_limit(20_000, NOW, page_origin=origin, correlation=correlation)
            status = 402
        else:
            document = describe_problem(
                code, f"{code}.", {}, status=status, page_origin=origin, correlation=correlation
            )
            body, status = document, document.status
        self._send(status, body.model_dump_json().encode(), "application/problem+json", headers)

    def _document(self, status: int, document: Document, headers: Mapping[str, str] | None = None) -> None:
        self._send(status, document.model_dump_json().encode(), "application/json", {**LIMITS, **(headers or {})})

    def _send(self, status: int, body: bytes, kind: str, headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        if self.close_connection:  # said, or the next request may go out on a connection that ends
            self.send_header("Connection", "close")
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
