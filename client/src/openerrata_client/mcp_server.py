"""A server of the Model Context Protocol, over standard input and output: audits as tools for models.

Only `audit_article` spends credit, and says so. Source: modelcontextprotocol.io; the official SDK, extra `mcp`.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from importlib.metadata import version
from typing import Any, Final, Literal

import anyio
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations

from openerrata_client.async_client import AsyncClient, AsyncJob
from openerrata_client.calls import CANCEL_S
from openerrata_client.corrections import investigation_call, post_call, read_data
from openerrata_client.documents import OpenErrataError, UnreadableAnswerError
from openerrata_client.errors import ApiConnectionError, JobTimeoutError, RateLimitError, ServerError
from openerrata_client.types import Options

AUDIT_S: Final = 600.0
PARTS: Final = 40
"""Many hosts give up a call that is silent for a minute."""
MOST_INVESTIGATIONS: Final = 5
READS: Final = ToolAnnotations(read_only_hint=True)
"""Hosts may call such a tool without asking their user."""
STARTS_A_JOB: Final = ToolAnnotations(read_only_hint=False, destructive_hint=False)
CHUNK: Final = 65_536
GOES_ON: Final = (JobTimeoutError, ApiConnectionError, ServerError, RateLimitError)
"""Errors that end the wait for a job, but not the job."""
_UNFINISHED: Final[dict[tuple[object, ...], str]] = {}
"""Jobs that outlived the call that started them, by its arguments: the same call again is not charged again."""
Json = Any
"""JSON as an instance answers it; models read it as it is."""


@asynccontextmanager
async def _connect() -> AsyncIterator[AsyncClient]:
    try:
        async with AsyncClient() as client:
            yield client
    except OpenErrataError as error:
        raise ToolError(str(error)) from None
    except ValueError as error:  # an option that the interface does not have
        raise ToolError(f"The request is not valid: {error}") from None


def make_server() -> MCPServer:
    """The server with its tools; key and address come from the environment."""
    server = MCPServer(
        "openerrata",
        instructions="Audits articles: claims, evidence for and against each, a verdict. Verdicts are estimates by "
        "models; quote the evidence with its address, not the verdict alone.",
        version=version("openerrata-client"),
    )
    server.tool(annotations=READS)(estimate_audit)
    server.tool(annotations=STARTS_A_JOB)(audit_article)
    server.tool(annotations=STARTS_A_JOB)(look_up_claim)
    server.tool(annotations=READS)(corrections_of_post)
    return server


async def estimate_audit(url: str | None = None, text: str | None = None, max_claims: int = 5) -> Mapping[str, Json]:
    """Say what an audit would cost, in US dollars. Costs nothing. Give exactly one of url and text."""
    _require_one(url, text)
    async with _connect() as client:
        estimate = await client.estimate(url=url, text=text, options=Options(max_claims=max_claims))
    return estimate.received


async def audit_article(
    context: Context,
    url: str | None = None,
    text: str | None = None,
    max_claims: int = 5,
    depth: Literal["standard", "deep"] = "standard",
    job_id: str | None = None,
) -> str:
    """Audit an article and return a report in Markdown: verdict, claims, quotes with their addresses. Spends the credit
    of the account and takes up to some minutes. Give exactly one of url (a public page), text (at most 10,000 words)
    and job_id (an audit that was begun before: waiting for it spends nothing more).
    """
    if job_id is None:
        _require_one(url, text)
    elif url is not None or text is not None:
        raise ToolError("Give a job_id without url and text.")
    asked = (url, text, max_claims, depth)
    begun = _UNFINISHED.pop(asked, None) if job_id is None else job_id
    async with _connect() as client:
        if begun is None:
            job = await client.analyze(url=url, text=text, options=Options(max_claims=max_claims, depth=depth))
        else:
            job = client.job(begun)
        try:
            return await _report(job, context)
        except GOES_ON as error:
            if job_id is None:
                _UNFINISHED[asked] = job.id
            raise ToolError(
                f"{error} Call audit_article with job_id {job.id} to wait for it; it is paid once."
            ) from None
        except anyio.get_cancelled_exc_class():
            with anyio.move_on_after(CANCEL_S, shield=True), suppress(OpenErrataError):
                await job.cancel()
            raise


async def look_up_claim(claim: str) -> Mapping[str, Json]:
    """Look up a claim among those analysed before, and return the analyses found. Spends no credit; at most 50 a day.
    A claim that is not found has the status cache_miss.
    """
    async with _connect() as client:
        job = await client.analyze(text=claim, options=Options(cache_preference="cache_only"))
        result = await job.result(AUDIT_S)
    return {"claims": result.received["claims"]}


async def corrections_of_post(platform: str, external_id: str) -> Mapping[str, Json]:
    """Return the published corrections of a post: sentences found wrong, with their sources. Needs no key.

    platform: LESSWRONG, WIKIPEDIA, SUBSTACK, X or BLUESKY; external_id: the platform's own id of the post.
    """
    async with _connect() as client:
        record = read_data(await client.fetch(post_call(platform, external_id)))
        try:
            post, found = record["post"], [each["id"] for each in record["investigations"][:MOST_INVESTIGATIONS]]
        except (KeyError, TypeError):
            raise UnreadableAnswerError("The server's answer is not the record of a post.") from None
        return {
            "post": post,
            "investigations": [read_data(await client.fetch(investigation_call(id_))) for id_ in found],
        }


async def _report(job: AsyncJob, context: Context) -> str:
    """Wait for the report, and report progress in each part of the time to a host that asked for it."""
    for part in range(1, PARTS):
        try:
            return await job.report(AUDIT_S / PARTS)
        except JobTimeoutError as waiting:
            await context.report_progress(part, PARTS, str(waiting))
    return await job.report(AUDIT_S / PARTS)


def _require_one(url: str | None, text: str | None) -> None:
    if (url is None) == (text is None):
        raise ToolError("Give exactly one of url and text.")


def main() -> None:
    """Serve until standard input ends, or a signal ends it."""
    _end_input_at(signal.SIGINT, signal.SIGTERM)
    make_server().run("stdio")


def _end_input_at(*signals: signal.Signals) -> None:
    """Let a first signal end standard input, and a second one the process.

    The SDK reads its input in a thread that it waits for, and that no signal interrupts.
    """
    ours, theirs = os.pipe()
    source = os.dup(0)
    os.dup2(ours, 0)
    os.close(ours)
    pipe = os.fdopen(theirs, "wb", buffering=0)

    def pass_on() -> None:
        with suppress(OSError, ValueError), pipe:  # the pipe may be closed, here or at the other end
            while words := os.read(source, CHUNK):
                pipe.write(words)

    def end(number: int, _: object) -> None:
        signal.signal(number, signal.SIG_DFL)
        pipe.close()

    for each in signals:
        signal.signal(each, end)
    threading.Thread(target=pass_on, daemon=True).start()
