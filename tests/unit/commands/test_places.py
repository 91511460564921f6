"""Commands where there is no terminal, or less than one."""

from __future__ import annotations

import io
import json
import logging
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import click
import pytest
import structlog
from click.testing import CliRunner

from contracts.topology import CONSUMERS, PROJECTED, STREAMS
from kit.flow import ConcludeFlow, ConsumerFlow, Flow, StreamFlow
from kit.telemetry import configure_logging
from services.__main__ import main
from services.commands.post import _find_post
from services.commands.streams import render

UNREACHABLE = "OPENERRATA_NATS_URL=nats://127.0.0.1:1"


@pytest.mark.parametrize("closed", ["0<&-", "1>&-", "0<&- 1>&-"])
def test_a_stream_that_the_parent_closed_breaks_nothing(closed: str) -> None:
    script = f"{UNREACHABLE} exec {sys.executable} -m services topology apply --wait 0.1 {closed}"
    ended = subprocess.run(["bash", "-c", script], stderr=subprocess.PIPE, timeout=60, check=False)
    assert (ended.returncode, b"Error: OPENERRATA_NATS_URL" in ended.stderr) == (1, True), ended.stderr


def test_commands_have_a_standard_error_to_log_to() -> None:
    program = (
        "import atexit, sys; from services.__main__ import main\n"
        "atexit.register(lambda: print(sys.stderr.fileno())); main(['--version'])"
    )
    ended = subprocess.run(
        ["bash", "-c", 'exec "$0" -c "$1" 2>&-', sys.executable, program],
        stdout=subprocess.PIPE,
        timeout=60,
        check=False,
    )
    assert ended.stdout.splitlines()[-1] == b"2"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("asked", ["", "1"])
def test_no_color_is_respected(asked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", asked)
    terminal = Terminal()
    configure_logging(terminal)
    structlog.get_logger().info("ready")
    structlog.reset_defaults()

    @click.command()
    def colourful() -> None:
        click.echo(click.style("red", fg="red"))

    monkeypatch.setattr(main, "get_command", lambda *_: colourful)
    said = CliRunner().invoke(main, ["colourful"], color=True).output
    assert ("\x1b" in terminal.getvalue(), "\x1b" in said) == (not asked, not asked)


def test_a_traceback_on_a_terminal_shows_no_values() -> None:
    """They may be a reader's key, or the words of an article."""

    def fail(secret: str) -> None:
        raise ZeroDivisionError

    terminal = Terminal()
    configure_logging(terminal)
    try:
        fail("sk-" + "a" * 40)
    except ZeroDivisionError:
        structlog.get_logger().exception("handler failed")
    structlog.reset_defaults()
    assert "in fail" in terminal.getvalue()
    assert "a" * 40 not in terminal.getvalue()


def test_what_libraries_log_is_one_json_object_a_line_too() -> None:
    sink = io.StringIO()
    configure_logging(sink)
    logging.getLogger("asyncio").warning("%s is odd", "this")
    try:
        raise ZeroDivisionError
    except ZeroDivisionError:
        logging.getLogger("nats").exception("it failed")
    structlog.reset_defaults()
    odd, failed = map(json.loads, sink.getvalue().splitlines())
    assert (odd["logger"], odd["level"], odd["event"]) == ("asyncio", "warning", "this is odd")
    assert odd["timestamp"]
    assert "ZeroDivisionError" in failed["exception"]


def test_a_process_that_is_asked_to_stop_says_so_in_its_log() -> None:
    program = """
import asyncio, os, signal
from kit.telemetry import configure_logging
from services.commands.process import listen_for_signals

async def main():
    stop = asyncio.Event()
    listen_for_signals(stop)
    os.kill(os.getpid(), signal.SIGTERM)
    await stop.wait()

configure_logging()
asyncio.run(main())
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60, check=True)
    (line,) = map(json.loads, ended.stderr.splitlines())
    assert (line["event"], line["level"]) == ("stopping after the current work", "info")


def test_columns_of_streams_and_consumers_stand_below_their_heads() -> None:
    streams = tuple(StreamFlow(each.name, 1, 0, 1, 1) for each in STREAMS)
    consumers = tuple(ConsumerFlow(each.name, 1, 0, 0, 0, 0, 1, 1, None, False) for each in CONSUMERS)
    flow = Flow(datetime(2026, 12, 1, tzinfo=UTC), streams, consumers, ConcludeFlow(0, None))
    per_s = dict.fromkeys((each.name for each in (*STREAMS, *CONSUMERS)), 0.0)
    of_streams, of_consumers, _ = "\n".join(
        render(flow, per_s, dict.fromkeys((each.name for each in PROJECTED), 1))
    ).split("\n\n")
    for table in (of_streams, of_consumers):
        assert len({len(line) for line in table.splitlines()}) == 1, table


class Posts:
    """A database with posts of one address."""

    def __init__(self, *numbers: int) -> None:
        self.rows = [(UUID(int=number), str(number)) for number in numbers]

    async def execute(self, *_: object) -> Posts:
        return self

    async def fetchall(self) -> list[tuple[UUID, str]]:
        return self.rows


@pytest.mark.parametrize(
    ("posts", "said"),
    [
        (Posts(), "no post has this address"),
        (Posts(1, 2), f"2 posts have this address; give the id of one: {UUID(int=1)}, {UUID(int=2)}"),
    ],
)
async def test_an_address_that_is_not_of_one_post_is_refused_with_what_to_give(posts: Posts, said: str) -> None:
    with pytest.raises(click.ClickException, match=said):
        await _find_post(posts, "https://news.example/a")  # type: ignore[arg-type]  # as much of it as is used


@pytest.mark.parametrize("reason", ["", " \n", "x" * 501, "a bell\x07"])
def test_a_post_is_not_erased_without_a_written_reason(reason: str, tmp_path: Path) -> None:
    arguments = ["post", "erase", str(UUID(int=1)), "--reason", reason, "--data-dir", str(tmp_path / "none")]
    done = CliRunner().invoke(main, arguments)
    assert (done.exit_code, "'--reason': must be a reason of 1 to 500 characters" in done.output) == (2, True)


@pytest.mark.parametrize(
    ("selection", "said"),
    [
        (["--platform", "wikipedia"], "is not one of"),
        (["--since", "2026-09-01", "--until", "2026-08-01"], "--since must be before --until"),
    ],
)
def test_a_replay_that_could_select_nothing_is_refused(selection: list[str], said: str) -> None:
    ended = CliRunner().invoke(main, ["replay", "--to", "validator-claim-proposed", *selection])
    assert ended.exit_code == 2
    assert said in ended.output
