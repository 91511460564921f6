"""The command line: audit one article, with an exit status that a script can use.

0: well supported. 1: any other verdict. 2: no verdict. 130: interrupted or terminated, and the job cancelled.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sys
from collections.abc import Mapping
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path
from typing import Any, Final

import click

from openerrata_client.async_client import AsyncClient, AsyncJob
from openerrata_client.calls import CANCEL_S, SERVER_VARIABLE
from openerrata_client.documents import OpenErrataError
from openerrata_client.errors import ApiConnectionError, ApiError
from openerrata_client.events import Event
from openerrata_client.types import CacheOnlyResult, FullResult, Options

WELL_SUPPORTED: Final = "WELL-SUPPORTED"
NO_VERDICT: Final = 2
INTERRUPTED: Final = 130
_PAGE: Final = re.compile(
    r"\s*+(?:<!--.*?-->\s*+)*+<(?:!doctype\s+html|\?xml|html|head|body)\b", re.IGNORECASE | re.DOTALL
)
_NO_TEXT: Final = re.compile(r"%PDF-|\{\\rtf|[^\0]*+\0")
_ADVICE: Final = "give the address of a page or a PDF, or the words alone as text in UTF-8"
_HELP: Final = """Audit an article: its claims, the evidence for and against each, and a verdict.

ARTICLE is the address of a page, a file of plain text or Markdown, or - for standard input.

\b
A page:                 {name} https://news.example/article
A draft, for a script:  {name} --json draft.md

The report goes to standard output. The exit status is 0 if the article is well supported, 1 if it is not, 2 if there is
no verdict. Ctrl-C and SIGTERM cancel the job. The key of the account is read from OPENERRATA_API_KEY or --key-file.
"""


class NoVerdict(click.ClickException):
    """Ends the process with the exit status of an audit without a verdict."""

    exit_code = NO_VERDICT


def exit_status(result: FullResult | CacheOnlyResult) -> int:
    """The exit status of the process."""
    assessment = result.article_holistic_assessment
    if assessment is None:
        return NO_VERDICT
    return 0 if assessment.overall_verdict == WELL_SUPPORTED else 1


def make_command(name: str) -> click.Command:
    """The command, by the name that its help shows."""

    @click.command("audit", help=_HELP.format(name=name))
    @click.argument("article")
    @click.option("--json", "as_json", is_flag=True, help="Print the result as JSON instead of the report.")
    @click.option("--server", envvar=SERVER_VARIABLE, metavar="URL", help="The instance; by default on this machine.")
    @click.option(
        "--key-file", type=click.Path(path_type=Path), help="A file with the account's key, instead of the environment."
    )
    @click.option("--max-claims", type=click.IntRange(1, 10), help="Analyse at most this many claims.")
    @click.option("--depth", type=click.Choice(["standard", "deep"]), help="How long to look for evidence.")
    @click.option(
        "--cache",
        type=click.Choice(["prefer_cache", "allow_partial", "skip_cache", "cache_only"]),
        help="What may be answered from the cache; cache_only costs nothing.",
    )
    @click.option(
        "--timeout",
        type=click.FloatRange(min=0),
        default=0.0,
        show_default=True,
        help="Give up after this many seconds, and cancel the job; 0: never.",
    )
    @click.pass_context
    def audit(
        context: click.Context,
        article: str,
        as_json: bool,
        server: str | None,
        key_file: Path | None,
        max_claims: int | None,
        depth: Any,  # one of the choices above
        cache: Any,  # one of the choices above
        timeout: float,
    ) -> None:
        options = Options(max_claims=max_claims, depth=depth, cache_preference=cache)
        try:
            key = None if key_file is None else key_file.read_text(encoding="utf-8", errors="replace")
            work = _audit(_read_article(article), options, key, server, timeout, as_json=as_json)
            result, output = asyncio.run(work)
            _print(output)
        except TimeoutError:
            raise NoVerdict(f"not done within {timeout:g} s; --timeout allows more") from None
        except UnicodeDecodeError as error:
            raise NoVerdict(f"{article} is not text in UTF-8 (byte {error.start}): {_ADVICE}") from None
        except OSError as error:
            raise NoVerdict(
                f"{error.filename}: {error.strerror}" if error.filename else error.strerror or str(error)
            ) from None
        except OpenErrataError as error:
            raise NoVerdict(str(error).partition("\n")[0]) from None
        except (KeyboardInterrupt, asyncio.CancelledError):
            click.echo("interrupted", err=True)
            context.exit(INTERRUPTED)
        context.exit(exit_status(result))

    return audit


def _print(output: str) -> None:
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        click.echo(output, nl=not output.endswith("\n"))
    except BrokenPipeError:  # its reader has read enough; the rest is dropped, or the end of the process would fail
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _read_article(article: str) -> Mapping[str, str]:
    """The article as an address or as text. Raises: OSError, UnicodeDecodeError, OpenErrataError: there is no text."""
    scheme, mark, _ = article.partition("://")
    if scheme.lower() in ("http", "https") and mark:
        return {"url": article}
    if scheme.isalnum() and mark:
        raise OpenErrataError("An address begins with https:// or http://.")
    if article != "-":
        text = Path(article).read_text(encoding="utf-8-sig")
    elif sys.stdin is None:
        text = ""
    else:
        text = sys.stdin.buffer.read().decode("utf-8-sig")
    if _PAGE.match(text):
        raise OpenErrataError("This is the source of a page: give its address, or its text.")
    if _NO_TEXT.match(text):
        raise OpenErrataError(f"This is not plain text: {_ADVICE}.")
    if not text.strip():
        raise OpenErrataError("There is no text.")
    return {"text": text}


async def _audit(
    article: Mapping[str, str],
    options: Options,
    key: str | None,
    server: str | None,
    timeout_s: float,
    *,
    as_json: bool,
) -> tuple[FullResult | CacheOnlyResult, str]:
    this = asyncio.current_task()
    assert this is not None
    with suppress(NotImplementedError):  # Windows has no such signal
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, this.cancel)
    async with AsyncClient(key, server=server) as client:
        async with asyncio.timeout(timeout_s or None):
            job = await client.analyze(url=article.get("url"), text=article.get("text"), options=options)
            try:
                if sys.stderr is not None and sys.stderr.isatty():
                    async for event in job.events():
                        click.echo(describe(event), err=True)
                result = await job.result()
                return result, json.dumps(result.received, indent=2) if as_json else await job.report()
            except asyncio.CancelledError:
                await cancel_and_say(job)
                raise
            except (ApiConnectionError, ApiError):
                click.echo(f"The job {job.id} was started; GET /v1/jobs/{job.id} shows its state.", err=True)
                raise


async def cancel_and_say(job: AsyncJob) -> None:
    """Cancel the job of a program that is interrupted, and say on standard error whether that succeeded."""
    try:
        async with asyncio.timeout(CANCEL_S):
            await job.cancel()
    except (OpenErrataError, TimeoutError):
        click.echo(f"The job {job.id} could not be cancelled, and ends by itself.", err=True)
    else:
        click.echo(f"The job {job.id} was cancelled.", err=True)


def describe(event: Event) -> str:
    """One line of progress."""
    data = event.data
    match event.name:
        case "queued":
            return f"queued: job {data.get('job_id')}"
        case "fetched":
            language = f" ({data['language']})" if data.get("language") else ""
            return f"read: {data.get('characters')} characters{language}"
        case "extracted":
            return f"claims: {data.get('claims_total')}"
        case "planned":
            claims = data.get("claims")
            listed = claims if isinstance(claims, list) else []
            outcomes = [f"{each.get('claim_id')} {each.get('outcome')}" for each in listed if isinstance(each, dict)]
            return f"looked up: {', '.join(outcomes)}"
        case "claim":
            return f"{data.get('claim_id')}: {data.get('rollup_verdict') or data.get('state')}"
        case "assessing":
            return "assessing the article"
        case "ended":
            return f"ended: {data.get('status')}, ${data.get('charged')}"
        case name:
            return name


def main() -> None:
    """`openerrata-audit`."""
    make_command("openerrata-audit").main(prog_name="openerrata-audit")
