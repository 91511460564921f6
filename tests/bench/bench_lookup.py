"""Private look-ups against the raw limit: the endpoint that serves buckets, and the least that sends as many bytes.

Both are served by the same server, each in a process of its own; the raw one knows no paths, caches or tags.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

from contracts.lookup.buckets import format_prefix, layout_name
from contracts.lookup.framing import PADDED
from kit.clock import SystemClock
from kit.http import HttpServer, bind
from services.commands.shared import run
from services.gateway.http import Receive, Scope, Send
from services.gateway.public.lookups import PREFIX, LookupEndpoint
from tests.bench import load
from tests.bench.child import Child, obey
from tests.bench.report import Report, of_raw

SECONDS: Final = 4.0
BITS: Final = 6
BUCKETS: Final = 2**BITS
BODY: Final = b"\x5a" * PADDED


class Stored:
    """The blob store: every bucket has one unit of padding."""

    async def get(self, name: str) -> bytes | None:
        """An object."""
        return BODY


class Static:
    """An ASGI application that sends the same bytes."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        headers = [(b"content-type", b"application/octet-stream"), (b"content-length", str(len(BODY)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": BODY})


def serve_buckets(pipe: Connection) -> None:
    """Serve look-ups until the parent ends; sends its address first."""
    run(_serve(pipe, LookupEndpoint(Stored(), SystemClock())))


def serve_static(pipe: Connection) -> None:
    """Serve the same bytes until the parent ends; sends its address first."""
    run(_serve(pipe, Static()))


async def _serve(pipe: Connection, application: LookupEndpoint | Static) -> None:
    server = HttpServer(application, bind("127.0.0.1", 0))
    await server.start()
    pipe.send(server.address)
    await obey(pipe, lambda question: None)
    await server.stop()


def bench(folder: Path, report: Report) -> None:
    """Look-ups of all buckets in turn, and the raw limit before and after."""
    report.head(f"lookup, {load.CONNECTIONS} connections, buckets of {PADDED:,} bytes")
    seconds = float(os.environ.get("BENCH_LOOKUP_SECONDS", SECONDS))
    asked = [_request(f"{PREFIX}{layout_name(BITS)}/{format_prefix(bucket, BITS)}") for bucket in range(BUCKETS)]
    with ExitStack() as processes:
        buckets, static = (processes.enter_context(Child(each)) for each in (serve_buckets, serve_static))
        sender = processes.enter_context(Child(load.main))
        ours, theirs = buckets.hear(), static.hear()

        def send(address: tuple[str, int], for_s: float) -> load.Round:
            answers: load.Round = sender.ask(load.Plan(address, asked, for_s, again=True))
            if answers.failures:
                report.fail(f"{answers.failures} look-ups failed, the first with {answers.failure}")
            return answers

        for address in (ours, theirs):
            send(address, seconds / 4)
        with report.watched() as speed:
            first, found, last = send(theirs, seconds / 2), send(ours, seconds), send(theirs, seconds / 2)
        limit = (first.per_second + last.per_second) / 2
        report.line("raw static bytes", limit, "a second")
        rate = found.per_second
        report.line("look-ups", rate, "a second", ratio=rate / limit, target=of_raw(0.7), speed=speed)
        report.line("  p99", found.percentile_ms(99), "ms")


def _request(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\naccept: */*\r\n\r\n".encode()
