"""`openerrata tail`: what happens, one line a fact, or one JSON object a fact for another program."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import click
import orjson

from contracts.topology import ERRATA, VIEWS
from contracts.v1 import PREFIX
from kit.bus import Bus, connect
from kit.clock import SystemClock
from kit.errors import Retry
from kit.ordered import OrderedLog, Recorded
from kit.pages import first_since, last_sequence, read_page
from services.commands.shared import data_dir_option, plain_errors, run, servers

COLOURS: Final = {
    "approved": "green",
    "completed": "green",
    "rejected": "yellow",
    "retry_scheduled": "yellow",
    "unavailable": "yellow",
    "anomaly_detected": "magenta",
    "failed": "red",
    "validation_failed": "red",
    "proposed": "cyan",
}
SHOWN: Final = (
    "quote",
    "summary",
    "reason",
    "failure",
    "status",
    "platform",
    "external_id",
    "url",
    "claims",
    "analysis",
)
TELLING: Final = 3
TEXT_WIDTH: Final = 100
PAGE: Final = 256
_AGO: Final = re.compile(r"(\d+)\s*([smhd])")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_CONTROLS: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]+")

Show = Callable[[Recorded], str]


class Moment(click.ParamType[datetime]):
    """A time as ISO 8601, or how long ago: `90s`, `15m`, `2h`, `7d`."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        if isinstance(value, datetime):
            return value
        ago = _AGO.fullmatch(value.strip())
        try:
            if ago is not None:
                return SystemClock().now() - timedelta(seconds=int(ago[1]) * _SECONDS[ago[2]])
            moment = datetime.fromisoformat(value)
        except (ValueError, OverflowError):
            self.fail(f"{value!r} is neither a time such as 2026-03-04T05:06Z nor an age such as 90s, 15m, 2h, 7d")
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


@click.command()
@click.option("--from", "start", type=click.IntRange(min=0), metavar="SEQ", help="Begin here; 0 is the very beginning.")
@click.option("--since", type=Moment(), help="Begin at a time, or so long ago: 90s, 15m, 2h, 7d.")
@click.option("--subject", "subjects", multiple=True, metavar="FILTER", help="Only these, e.g. 'claim.approved.>'.")
@click.option("--views", is_flag=True, help="Follow page views instead, which lie in a stream of their own.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@click.option("--no-follow", is_flag=True, help="End with the last fact that is there, instead of waiting for more.")
@data_dir_option
@plain_errors
def command(
    start: int | None,
    since: datetime | None,
    subjects: tuple[str, ...],
    views: bool,
    as_json: bool,
    no_follow: bool,
    data_dir: Path,
) -> None:
    """Follow facts as they happen. Without --from and --since it begins now; Ctrl-C ends it.

    \b
    openerrata tail --since 15m --subject "claim.approved.>"
    openerrata tail --from 0 --no-follow --json
    """
    if start is not None and since is not None:
        raise click.UsageError("--from and --since exclude one another")
    stream = (VIEWS if views else ERRATA).name
    show = json_line if as_json else line
    with servers(data_dir, start=False, quieter="error") as found:
        try:
            run(_main(found.nats_url, stream, filters(subjects), since or start, not no_follow, show))
        except Retry as error:
            raise click.ClickException(str(error)) from error
        except BrokenPipeError:  # whoever read this has had enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def filters(subjects: Sequence[str]) -> tuple[str, ...]:
    """Filters as the broker knows them; the common beginning of all subjects can be left out.

    Raises: click.BadParameter: a filter can match nothing, or matches what another one matches.
    """
    whole = tuple(subject if subject.startswith(PREFIX) else f"{PREFIX}{subject}" for subject in subjects)
    for subject in whole:
        tokens = subject.split(".")
        if "" in tokens or any(character in subject for character in " \t\r\n") or ">" in tokens[:-1]:
            raise click.BadParameter(f"{subject!r} is no subject", param_hint="--subject")
    for subject in whole:
        if any(other is not subject and _overlap(subject.split("."), other.split(".")) for other in whole):
            raise click.BadParameter("filters must not match the same subjects", param_hint="--subject")
    return whole or (">",)


def _overlap(one: Sequence[str], other: Sequence[str]) -> bool:
    for left, right in zip(one, other, strict=False):
        if ">" in (left, right):
            return True
        if left != right and "*" not in (left, right):
            return False
    return len(one) == len(other)


def line(message: Recorded) -> str:
    """One fact for people: sequence, time, what, and the most telling of its fields.

    What strangers wrote cannot move the cursor or change colours: control characters become spaces.
    """
    subject = message.subject.removeprefix(PREFIX)
    name, _, key = subject.rpartition(".")
    try:
        fact = orjson.loads(message.data)["event"]
        told = "  ".join(_telling(fact))
    except (orjson.JSONDecodeError, KeyError, TypeError):
        told = "(cannot be read)"
    colour = COLOURS.get(name.rpartition(".")[2])
    what = click.style(f"{name:<27}", fg=colour, bold=colour is not None)
    when = click.style(f"{message.time:%Y-%m-%d %H:%M:%S}", dim=True)
    return f"{message.sequence:>8}  {when}  {what} {click.style(key[:8], dim=True)}  {told}".rstrip()


def json_line(message: Recorded) -> str:
    """One fact for programs: where it stands, and the envelope as it is stored."""
    head = orjson.dumps({"sequence": message.sequence, "subject": message.subject, "stored_at": message.time}).decode()
    try:
        orjson.loads(message.data)
    except orjson.JSONDecodeError:
        return f'{head[:-1]},"envelope":null}}'
    return f'{head[:-1]},"envelope":{message.data.decode()}}}'


def _telling(fact: dict[str, Any]) -> list[str]:
    flat = {**fact, **fact.get("post", {}), **fact.get("input", {})}
    observation = fact.get("observation")
    if isinstance(observation, dict):
        flat |= {**observation, **observation.get("post", {})}
    payload = fact.get("payload")
    if isinstance(payload, dict):
        flat |= {"quote": f"“{payload.get('text', '')}”", "summary": payload.get("summary")}
    if isinstance(fact.get("claims"), list):
        flat["claims"] = f"{len(fact['claims'])} findings"
    shown = [_CONTROLS.sub(" ", str(flat[name]))[:TEXT_WIDTH] for name in SHOWN if flat.get(name) is not None]
    return shown[:TELLING]


async def _main(
    url: str, stream: str, subjects: Sequence[str], start: int | datetime | None, follow: bool, show: Show
) -> None:
    async with connect(url, name="openerrata-tail") as bus:
        newest = await last_sequence(bus, stream)
        if isinstance(start, datetime):
            start = await first_since(bus, stream, start)
        first = newest + 1 if start is None else max(start, 1)
        if follow:
            work = _follow(OrderedLog(bus, stream, first, subjects=subjects), show)
        else:
            work = _recall(bus, stream, subjects, first - 1, show)
        printing, interrupted = asyncio.create_task(work), asyncio.create_task(_signalled())
        await asyncio.wait((printing, interrupted), return_when=asyncio.FIRST_COMPLETED)
        interrupted.cancel()
        if printing.done():
            printing.result()
        printing.cancel()
        await asyncio.wait((printing, interrupted))


async def _follow(log: OrderedLog, show: Show) -> None:
    async for batch in log.batches():
        _print(batch, show)


async def _recall(bus: Bus, stream: str, subjects: Sequence[str], after: int, show: Show) -> None:
    more = True
    while more:
        page = await read_page(bus, stream, subjects, after=after, limit=PAGE)
        _print(page.messages, show)
        after, more = (page.messages[-1].sequence if page.messages else after), page.more


def _print(messages: Sequence[Recorded], show: Show) -> None:
    for message in messages:
        click.echo(show(message))
    sys.stdout.flush()


async def _signalled() -> None:
    """Return at Ctrl-C or SIGTERM: the way this command is meant to end."""
    loop = asyncio.get_running_loop()
    heard = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, heard.set)
    await heard.wait()
