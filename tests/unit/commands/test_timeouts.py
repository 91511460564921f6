"""Every command ends, and says why."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from services.__main__ import COMMANDS, main
from services.commands.shared import handle_errors, run
from services.commands.timeouts import DEFAULT_S, ENDLESS, UNLIMITED, add_timeout
from tests.support.notaries import POLICY


def leaves(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    """All commands that do something, by what is typed."""
    if isinstance(command, click.Group):
        for name, each in command.commands.items():
            yield from leaves(each, f"{path} {name}")
    else:
        yield path, command


def test_every_command_can_be_given_a_time_limit() -> None:
    assert isinstance(main, click.Group)
    found: dict[str, click.Command] = {}
    for name in COMMANDS:
        command = main.get_command(click.Context(main), name)
        assert command is not None
        found.update(leaves(command, name))
    limits = {
        path: [option.default for option in command.params if option.name == "timeout"]
        for path, command in found.items()
    }
    assert limits == {path: [] if path in ENDLESS else [0.0 if path in UNLIMITED else DEFAULT_S] for path in found}
    assert found.keys() >= ENDLESS | UNLIMITED


def test_what_takes_too_long_ends_with_one_line() -> None:
    @click.command()
    @handle_errors
    def waits() -> None:
        run(asyncio.Event().wait())

    began = time.monotonic()
    ended = CliRunner().invoke(add_timeout(waits, "waits"), ["--timeout", "0.2"])
    assert ended.exit_code == 1
    assert ended.output.startswith("Error: not done within 0.2 s")
    assert time.monotonic() - began < DEFAULT_S / 2, "the process collects the garbage of all tests before it waits"


@pytest.mark.requirement("TR-15")
def test_a_monitor_that_could_not_look_raises_no_alarm(tmp_path: Path) -> None:
    """TR-15: A monitor raises an alarm on each way to tamper with the log, and on no honest log."""
    (tmp_path / "policy").write_bytes(bytes(POLICY))
    options = ("--policy", str(tmp_path / "policy"), "--state", str(tmp_path / "seen"), "--timeout", "0.2")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        for url in (f"http://127.0.0.1:{silent.getsockname()[1]}/", "http://[::1/"):
            ended = CliRunner().invoke(main, ["log", "monitor", url, *options])
            assert (ended.exit_code, ended.output[:14]) == (2, "could not look"), ended.output
    (tmp_path / "policy").unlink()
    ended = CliRunner().invoke(main, ["log", "monitor", url, *options])
    assert (ended.exit_code, ended.output) == (2, f"could not look: {tmp_path / 'policy'}: No such file or directory\n")


def test_a_time_limit_of_the_work_itself_is_not_mistaken_for_it() -> None:
    @click.command()
    def fails() -> None:
        async def work() -> None:
            raise TimeoutError("the database")

        run(work())

    ended = CliRunner().invoke(add_timeout(fails, "fails"), ["--timeout", "60"])
    assert isinstance(ended.exception, TimeoutError)


def test_reading_the_words_of_a_command_starts_no_clock() -> None:
    before = threading.active_count()
    doctor = main.get_command(click.Context(main), "doctor")
    assert doctor is not None
    doctor.make_context("doctor", ["--timeout", "0.2"], **main.context_settings)
    assert threading.active_count() == before


@pytest.mark.parametrize("limit", ["-1", "soon"])
def test_what_is_no_time_is_refused(limit: str) -> None:
    @click.command()
    def nothing() -> None: ...

    assert CliRunner().invoke(add_timeout(nothing, "nothing"), ["--timeout", limit]).exit_code == 2
