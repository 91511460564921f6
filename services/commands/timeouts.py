"""`--timeout` for every command that is meant to end."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Coroutine
from typing import Final, Never, TypeVar

import click

ENDLESS: Final = frozenset({"up", "demo", "mcp", "witness serve"})
"""Commands that run until they are stopped."""
UNLIMITED: Final = frozenset(
    {
        "audit",
        "backup",
        "erase account",
        "erase assertion",
        "erase job",
        "export",
        "investigation replay",
        "ledger verify",
        "post erase",
        "projector migrate",
        "projector rebuild",
        "replay",
        "restore",
        "streams",
        "tail",
        "topology apply",
    }
)
"""Commands without a default limit: their time depends on the amount of data, or they have an option of their own."""
DEFAULT_S: Final = 180.0
GRACE_S: Final = 20.0
"""How long a command may take to disconnect from servers that do not answer, before the process is ended."""
_LIMIT: Final = "openerrata.timeout"

T = TypeVar("T")


def add_timeout(command: click.Command, path: str) -> click.Command:
    """Add `--timeout` to the command, or to all commands of a group."""
    if isinstance(command, click.Group):
        for name, each in command.commands.items():
            add_timeout(each, f"{path} {name}")
    elif path not in ENDLESS and all(option.name != "timeout" for option in command.params):
        option = click.Option(
            ["--timeout"],
            type=click.FloatRange(min=0),
            default=0.0 if path in UNLIMITED else DEFAULT_S,
            show_default=True,
            expose_value=False,
            callback=_keep_limit,
            help="Give up after this many seconds; 0: never.",
        )
        command.params.append(option)
    return command


def _keep_limit(context: click.Context, _: click.Parameter, limit_s: float) -> None:
    context.meta[_LIMIT] = limit_s


async def run_within_limit(main: Coroutine[object, Never, T]) -> T:
    """Run a command within its time limit. Raises: click.ClickException: it took longer."""
    context = click.get_current_context(silent=True)
    limit_s = context.meta.get(_LIMIT) if context is not None else None
    if not limit_s:
        return await main
    assert context is not None
    end = threading.Timer(limit_s + GRACE_S, _end_process, (limit_s,))
    end.daemon = True
    end.start()
    context.call_on_close(end.cancel)
    try:
        async with asyncio.timeout(limit_s) as limit:
            return await main
    except TimeoutError:
        if not limit.expired():
            raise
        raise click.ClickException(_message(limit_s)) from None


def _end_process(limit_s: float) -> None:
    sys.stderr.write(f"Error: {_message(limit_s)}\n")
    sys.stderr.flush()
    os._exit(1)


def _message(limit_s: float) -> str:
    return f"not done within {limit_s:g} s; `openerrata doctor` finds a silent server, and --timeout allows more"
