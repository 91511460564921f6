"""`openerrata tail`: print facts as they are stored, as lines or as JSON."""

from __future__ import annotations

import asyncio
import difflib
import os
import re
import signal
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import click
import orjson

from contracts.topology import ERRATA, VIEWS, Stream, stream_of
from contracts.v1 import EVENTS, PREFIX
from kit.bus import Bus, connect
from kit.clock import SystemClock
from kit.errors import Retry
from kit.ordered import OrderedLog, StoredMessage
from kit.pages import find_first_since, read_last_sequence, read_page
from services.commands.shared import on_servers, open_servers, run
from services.commands.terminal import clean, escape_json, format_count

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
FIELDS: Final = (
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
MAX_FIELDS: Final = 3
TEXT_WIDTH: Final = 100
PAGE_SIZE: Final = 256
_AGE: Final = re.compile(r"(\d+)\s*([smhd])")
_SECONDS: Final = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}

Format = Callable[[StoredMessage], str]


class Moment(click.ParamType[datetime]):
    """A time in ISO 8601, or an age: `90s`, `15m`, `2h`, `7d`."""

    name = "time"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        if isinstance(value, datetime):
            return value
        text = str(value)
        ago = _AGE.fullmatch(text.strip())
        try:
            if ago is not None:
                return SystemClock().now() - timedelta(seconds=int(ago[1]) * _SECONDS[ago[2]])
            moment = datetime.fromisoformat(text)
        except (ValueError, OverflowError):
            self.fail(f"{value!r} is neither a time such as 2026-03-04T05:06Z nor an age such as 90s, 15m, 2h, 7d")
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


@click.command()
@click.option("--from", "start", type=click.IntRange(min=0), metavar="SEQ", help="Begin at this sequence.")
@click.option("--since", type=Moment(), help="Begin at a time, or an age: 90s, 15m, 2h, 7d.")
@click.option("--subject", "subjects", multiple=True, metavar="FILTER", help="Only these, e.g. 'claim.approved.>'.")
@click.option("--views", is_flag=True, help="Follow page views instead; they have their own stream.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@click.option("--no-follow", is_flag=True, help="End after the last stored fact instead of waiting for more.")
@on_servers
def command(
    start: int | None,
    since: datetime | None,
    subjects: tuple[str, ...],
    views: bool,
    as_json: bool,
    no_follow: bool,
    data_dir: Path,
) -> None:
    """Follow facts as they are stored. Without --from and --since it begins now; Ctrl-C ends it.

    \b
    openerrata tail --since 15m --subject "claim.approved.>"
    openerrata tail --from 0 --no-follow --json
    """
    if start is not None and since is not None:
        raise click.UsageError("--from and --since exclude one another")
    stream = VIEWS if views else ERRATA
    filters = parse_filters(subjects, stream)
    format_ = format_json if as_json else format_line
    with open_servers(data_dir, start=False, quieter="error") as found:
        try:
            run(_main(found.nats_url, stream.name, filters, since or start, not no_follow, format_))
        except Retry as error:
            raise click.ClickException(str(error)) from error
        except BrokenPipeError:  # the reader of the pipe has closed it
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def parse_filters(subjects: Sequence[str], stream: Stream = ERRATA) -> tuple[str, ...]:
    """Subject filters for the broker; the common prefix may be omitted.

    Raises: click.BadParameter: a filter is invalid, overlaps another one, or matches no event of the stream.
    """
    known = [f"{event.SUBJECT}.*" for event in EVENTS if stream_of(event) is stream]
    whole = tuple(subject if subject.startswith(PREFIX) else f"{PREFIX}{subject}" for subject in subjects)
    for subject in whole:
        tokens = subject.split(".")
        if "" in tokens or any(character in subject for character in " \t\r\n") or ">" in tokens[:-1]:
            raise click.BadParameter(f"{subject!r} is not a subject", param_hint="--subject")
    for subject in whole:
        if any(other is not subject and _overlap(subject.split("."), other.split(".")) for other in whole):
            raise click.BadParameter("filters must not match the same subjects", param_hint="--subject")
        if not any(_overlap(subject.split("."), each.split(".")) for each in known):
            near = difflib.get_close_matches(subject, known, n=1, cutoff=0)[0].removeprefix(PREFIX)
            raise click.BadParameter(f"{subject!r} matches no event; try {near!r}", param_hint="--subject")
    return whole or (">",)


def _overlap(one: Sequence[str], other: Sequence[str]) -> bool:
    for left, right in zip(one, other, strict=False):
        if ">" in (left, right):
            return True
        if left != right and "*" not in (left, right):
            return False
    return len(one) == len(other)


def format_line(message: StoredMessage) -> str:
    """One fact as a line: sequence, time, type, and its most useful fields.

    Text of third parties is shown without control characters, so that it cannot control the terminal.
    """
    subject = message.subject.removeprefix(PREFIX)
    name, _, key = subject.rpartition(".")
    try:
        fact = orjson.loads(message.data)["event"]
        fields = "  ".join(_pick_fields(fact))
    except (orjson.JSONDecodeError, KeyError, TypeError):
        fields = "(cannot be decoded)"
    colour = COLOURS.get(name.rpartition(".")[2])
    what = click.style(f"{name:<27}", fg=colour, bold=colour is not None)
    when = click.style(f"{message.time:%Y-%m-%d %H:%M:%S}", dim=True)
    return f"{message.sequence:>8}  {when}  {what} {click.style(key[:8], dim=True)}  {fields}".rstrip()


def format_json(message: StoredMessage) -> str:
    """One fact as JSON: its place, and the envelope as it is stored."""
    head = orjson.dumps({"sequence": message.sequence, "subject": message.subject, "stored_at": message.time}).decode()
    try:
        orjson.loads(message.data)
    except orjson.JSONDecodeError:
        return f'{head[:-1]},"envelope":null}}'
    return f'{head[:-1]},"envelope":{escape_json(message.data.decode())}}}'


def _pick_fields(fact: dict[str, object]) -> list[str]:
    observation = _nested(fact, "observation")
    flat = {**fact, **_nested(fact, "post"), **_nested(fact, "input"), **observation, **_nested(observation, "post")}
    if payload := _nested(fact, "payload"):
        flat |= {"quote": f"“{payload.get('text', '')}”", "summary": payload.get("summary")}
    if isinstance(claims := fact.get("claims"), list):
        flat["claims"] = format_count(len(claims), "finding")
    fields = [clean(str(flat[name]))[:TEXT_WIDTH] for name in FIELDS if flat.get(name) is not None]
    return fields[:MAX_FIELDS]


def _nested(fact: dict[str, object], name: str) -> dict[str, object]:
    value = fact.get(name)
    return value if isinstance(value, dict) else {}


async def _main(
    url: str, stream: str, subjects: Sequence[str], start: int | datetime | None, follow: bool, format_: Format
) -> None:
    async with connect(url, name="openerrata-tail") as bus:
        newest = await read_last_sequence(bus, stream)
        if isinstance(start, datetime):
            start = await find_first_since(bus, stream, start)
        first = newest + 1 if start is None else max(start, 1)
        if follow:
            work = _follow(OrderedLog(bus, stream, first, subjects=subjects), format_)
        else:
            work = _print_past(bus, stream, subjects, first - 1, format_)
        printing, interrupted = asyncio.create_task(work), asyncio.create_task(_wait_for_signal())
        await asyncio.wait((printing, interrupted), return_when=asyncio.FIRST_COMPLETED)
        interrupted.cancel()
        if printing.done():
            printing.result()
        printing.cancel()
        await asyncio.wait((printing, interrupted))


async def _follow(log: OrderedLog, format_: Format) -> None:
    async for batch in log.batches():
        _print(batch, format_)


async def _print_past(bus: Bus, stream: str, subjects: Sequence[str], after: int, format_: Format) -> None:
    more = True
    while more:
        page = await read_page(bus, stream, subjects, after=after, limit=PAGE_SIZE)
        _print(page.messages, format_)
        after, more = (page.messages[-1].sequence if page.messages else after), page.more


def _print(messages: Sequence[StoredMessage], format_: Format) -> None:
    for message in messages:
        click.echo(format_(message))
    sys.stdout.flush()


async def _wait_for_signal() -> None:
    """Return at Ctrl-C or SIGTERM."""
    loop = asyncio.get_running_loop()
    received = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, received.set)
    await received.wait()
