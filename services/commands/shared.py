"""What every subcommand does the same way: read settings, find the servers, and say clearly what went wrong."""

from __future__ import annotations

import functools
import gc
import sys
from collections.abc import Callable, Collection, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import click
import structlog
import uvloop

from kit.embedded import ServiceName
from kit.settings import Infrastructure, load
from kit.surroundings import SERVER_NAMES, Surroundings, surroundings
from kit.telemetry import configure_logging
from kit.trouble import explained
from services.commands.known_settings import DATA_DIR, check_environment
from services.commands.timeouts import within_limit

P = ParamSpec("P")
T = TypeVar("T")

data_dir_option = click.option(
    "--data-dir",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(".openerrata"),
    show_default=True,
    envvar=DATA_DIR,
    help="Where embedded servers keep their data.",
)


class Group(click.Group):
    """Lists its commands with the whole first sentence of each."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, self.commands[name].get_short_help_str(1_000)) for name in sorted(self.commands)]
            )


def plain_errors(function: Callable[P, T]) -> Callable[P, T]:
    """Refuse settings that nobody reads, and turn errors that an operator can mend into one line and exit status 1.

    At debug the log has the traceback.
    """

    @functools.wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            check_environment()
            return function(*args, **kwargs)
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
            sys.exit(130)
        except Exception as error:
            told = explained(error)
            if told is None:
                raise
            if structlog.is_configured():  # else its default would print it
                structlog.get_logger(__name__).debug("where it happened", exc_info=error)
            raise click.ClickException(told) from error

    return wrapped


@contextmanager
def servers(
    data_dir: Path,
    *,
    start: bool = True,
    quieter: str | None = None,
    needs: Collection[ServiceName] = SERVER_NAMES,
) -> Iterator[Surroundings]:
    """The servers that the settings name, or embedded ones over `data_dir`; `quieter` as in `log_level`."""
    infrastructure = load(Infrastructure)
    configure_logging(level=log_level(infrastructure, quieter))
    with surroundings(infrastructure, data_dir.absolute(), start=start, needs=needs) as found:
        yield found


def log_level(infrastructure: Infrastructure, quieter: str | None) -> str:
    """The operator's level if one is set; else the one that suits a command which is read by somebody."""
    said = infrastructure.log_level
    return said if quieter is None or "log_level" in infrastructure.model_fields_set else quieter


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run an event loop to its end; what was imported lives as long as the process and need not be looked through."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
    return uvloop.run(within_limit(main))
