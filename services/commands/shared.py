"""What all subcommands share: the data folder, access to the servers, error messages, the event loop.

Modules that a command needs to run, but not for its help, are imported when it runs.
"""

from __future__ import annotations

import fcntl
import functools
import gc
import sys
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, Never, ParamSpec, TypeVar

import click

from services.commands.timeouts import run_within_limit

if TYPE_CHECKING:
    from kit.bus import Bus
    from kit.embedded import ServiceName
    from kit.servers_in_use import Servers
    from kit.settings import Infrastructure

P = ParamSpec("P")
T = TypeVar("T")

DATA_DIR: Final = "OPENERRATA_DATA_DIR"

data_dir_option = click.option(
    "--data-dir",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(".openerrata"),
    show_default=True,
    envvar=DATA_DIR,
    help="Where embedded servers keep their data.",
)


class Group(click.Group):
    """A group that lists its commands with their whole first sentence."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, self.commands[name].get_short_help_str(1_000)) for name in sorted(self.commands)]
            )


def handle_errors(function: Callable[P, T]) -> Callable[P, T]:
    """Refuse unknown settings; turn errors that an operator can fix into one line and exit status 1.

    At level debug the traceback is logged.
    """

    @functools.wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            from services.commands.known_settings import check_environment

            check_environment()
            return function(*args, **kwargs)
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
            sys.exit(130)
        except Exception as error:
            import structlog

            from kit.operator_errors import explain

            message = explain(error)
            if message is None:
                raise
            if structlog.is_configured():  # its default would print it
                structlog.get_logger(__name__).debug("traceback", exc_info=error)
            raise click.ClickException(message) from error

    return wrapped


@contextmanager
def as_message(*errors: type[Exception]) -> Iterator[None]:
    """End a command with the message of one of these errors."""
    try:
        yield
    except errors as error:
        raise click.ClickException(str(error)) from error


def on_servers(function: Callable[P, T]) -> Callable[P, T]:
    """Give a command the option `--data-dir`, and handle its errors."""
    return data_dir_option(handle_errors(function))


def read_line(limit: int, what: str) -> Callable[[click.Context, click.Parameter, str], str]:
    """A callback of an option that takes one line of 1 to `limit` characters."""

    def read(_: click.Context, __: click.Parameter, value: str) -> str:
        value = " ".join(value.split())
        if not value or len(value) > limit or not value.isprintable():
            raise click.BadParameter(f"must be {what} of 1 to {limit} characters")
        return value

    return read


@contextmanager
def lock_folder(folder: Path, work: str) -> Iterator[None]:
    """Keep a folder to one process. Raises: SettingsError: another one does this work there."""
    from kit.settings import SettingsError

    with (folder / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SettingsError(f"another {work} into {folder} is running") from None
        yield


@contextmanager
def open_servers(
    data_dir: Path,
    *,
    start: bool = True,
    quieter: str | None = None,
    needs: Collection[ServiceName] | None = None,
) -> Iterator[Servers]:
    """The servers that the settings name, or embedded ones over `data_dir`; `quieter` as in `choose_log_level`.

    Shapes: `needs` None: all of them.
    """
    from kit.servers_in_use import SERVER_NAMES, find_servers
    from kit.settings import Infrastructure, load
    from kit.telemetry import configure_logging

    infrastructure = load(Infrastructure)
    configure_logging(level=choose_log_level(infrastructure, quieter))
    with find_servers(
        infrastructure, data_dir.absolute(), start=start, needs=SERVER_NAMES if needs is None else needs
    ) as found:
        yield found


def run_on_servers(
    data_dir: Path,
    main: Callable[[Servers], Coroutine[object, Never, T]],
    *,
    quieter: str = "error",
    needs: Collection[ServiceName] | None = None,
) -> T:
    """Run a coroutine to its end on servers that are opened as by `open_servers`."""
    with open_servers(data_dir, quieter=quieter, needs=needs) as found:
        return run(main(found))


def run_on_bus(data_dir: Path, name: str, action: Callable[[Bus], Awaitable[T]], *errors: type[Exception]) -> T:
    """Run an action on the broker to its end, or end with the message of one of these errors; `name` is the command."""
    from kit.bus import connect

    async def work(found: Servers) -> T:
        async with connect(found.nats_url, name=f"openerrata-{name}") as bus:
            return await action(bus)

    with as_message(*errors):
        return run_on_servers(data_dir, work)


def choose_log_level(infrastructure: Infrastructure, quieter: str | None) -> str:
    """The configured level if one is set; else `quieter`, for commands whose output is read in a terminal."""
    if quieter is None or "log_level" in infrastructure.model_fields_set:
        return infrastructure.log_level
    return quieter


def run(main: Coroutine[object, Never, T]) -> T:
    """Run a coroutine to its end. Imported objects are frozen: they need no garbage collection."""
    import uvloop

    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
    return uvloop.run(run_within_limit(main))
