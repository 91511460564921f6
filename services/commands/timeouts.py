"""Every command that is meant to end does end: by itself, or after `--timeout` with one line that says so."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Coroutine
from typing import Any, Final, TypeVar

import click

ENDLESS: Final = frozenset({"up", "demo"})
"""These run until they are stopped."""
UNLIMITED: Final = frozenset(
    {
        "backup",
        "export",
        "investigation replay",
        "ledger verify",
        "post forget",
        "projector migrate",
        "projector rebuild",
        "replay",
        "restore",
        "streams",
        "tail",
        "topology apply",
    }
)
"""These take as long as there is data, or have an option of their own; only a limit that is given ends them."""
DEFAULT_S: Final = 180.0
GRACE_S: Final = 20.0
"""What a command may take to let go of servers that do not answer, before the process is ended."""
_LIMIT: Final = "openerrata.timeout"

T = TypeVar("T")


def bounded(command: click.Command, path: str) -> click.Command:
    """The command, or all commands of a group, with `--timeout`."""
    if isinstance(command, click.Group):
        for name, each in command.commands.items():
            bounded(each, f"{path} {name}")
    elif path not in ENDLESS and all(option.name != "timeout" for option in command.params):
        option = click.Option(
            ["--timeout"],
            type=click.FloatRange(min=0),
            default=0.0 if path in UNLIMITED else DEFAULT_S,
            show_default=True,
            expose_value=False,
            callback=_begin,
            help="Give up after so many seconds; 0: never.",
        )
        command.params.append(option)
    return command


def _begin(context: click.Context, _: click.Parameter, limit_s: float) -> None:
    if limit_s and not context.resilient_parsing:
        context.meta[_LIMIT] = limit_s
        end = threading.Timer(limit_s + GRACE_S, _end, (limit_s,))
        end.daemon = True
        end.start()
        context.call_on_close(end.cancel)


def _end(limit_s: float) -> None:
    sys.stderr.write(f"Error: {_message(limit_s)}\n")
    sys.stderr.flush()
    os._exit(1)


async def within_limit(main: Coroutine[Any, Any, T]) -> T:
    """Wait for a command's work, for as long as it may take. Raises: click.ClickException: it took longer."""
    context = click.get_current_context(silent=True)
    limit_s = context.meta.get(_LIMIT) if context is not None else None
    try:
        async with asyncio.timeout(limit_s) as limit:
            return await main
    except TimeoutError:
        if not limit.expired():
            raise
        assert limit_s is not None
        raise click.ClickException(_message(limit_s)) from None


def _message(limit_s: float) -> str:
    return f"not done within {limit_s:g} s; `openerrata doctor` finds a silent server, and --timeout allows more"
