"""What an operator can fix is one line; the traceback is in the log at level debug."""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Iterator
from pathlib import Path

import click
import psycopg
import pytest
import structlog
from click.testing import CliRunner

from kit.settings import Infrastructure, load
from kit.telemetry import configure_logging
from services.__main__ import main
from services.commands.shared import choose_log_level, handle_errors


@pytest.fixture
def _erased() -> Iterator[None]:
    yield
    structlog.reset_defaults()


@click.command()
@handle_errors
def broken() -> None:
    """A command whose database goes away in the middle."""
    the_middle()


def the_middle() -> None:
    raise psycopg.OperationalError("server closed the\n\tconnection unexpectedly")


@pytest.mark.usefixtures("_erased")
@pytest.mark.parametrize("level", ["debug", "info", "error"])
def test_the_traceback_is_logged_at_debug_and_only_there(level: str) -> None:
    sink = io.StringIO()
    configure_logging(sink, level=level)
    ended = CliRunner().invoke(broken)
    assert ended.exit_code == 1
    assert ended.output == "Error: OPENERRATA_DATABASE_URL: server closed the connection unexpectedly\n"
    logged = sink.getvalue()
    if level == "debug":
        assert "in the_middle" in logged
        assert "OperationalError" in logged
    else:
        assert logged == ""


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), "a/b"), "a/b: No such file or directory"),
        (PermissionError(errno.EACCES, os.strerror(errno.EACCES), "a"), "a: Permission denied"),
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), "No space left on device"),
    ],
)
def test_a_file_that_cannot_be_read_or_written_is_one_line(error: OSError, line: str) -> None:
    @click.command()
    @handle_errors
    def command() -> None:
        raise error

    assert CliRunner().invoke(command).output == f"Error: {line}\n"


@pytest.mark.parametrize(
    "arguments", ["demo --once --data-dir {}/x", "log verify {}/proof --policy {}/policy"], ids=["demo", "log verify"]
)
def test_a_folder_that_is_a_file_is_one_line(arguments: str, tmp_path: Path) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.touch()
    ended = CliRunner().invoke(main, arguments.format(in_the_way, in_the_way).split())
    assert ended.exit_code == 1
    assert ended.output.startswith(f"Error: {in_the_way}/"), ended.output
    assert ended.output.endswith(": Not a directory\n")
    assert ended.output.count("\n") == 1


@pytest.mark.parametrize(
    ("said", "quieter", "level"),
    [(None, "error", "error"), (None, None, "info"), ("debug", "error", "debug"), ("info", "warning", "info")],
)
def test_a_command_is_as_quiet_as_it_likes_unless_the_operator_says_how_loud(
    said: str | None, quieter: str | None, level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENERRATA_LOG_LEVEL", raising=False)
    if said is not None:
        monkeypatch.setenv("OPENERRATA_LOG_LEVEL", said)
    assert choose_log_level(load(Infrastructure), quieter) == level
