"""What an operator can fix is one line; the traceback is in the log at level debug."""

from __future__ import annotations

import io
from collections.abc import Iterator

import click
import psycopg
import pytest
import structlog
from click.testing import CliRunner

from kit.settings import Infrastructure, load
from kit.telemetry import configure_logging
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
