"""Every command teaches how it is used, and says in one line when it is used wrongly."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from services.__main__ import main
from services.commands.process import SERVICES
from tests.support.command_line import commands, parsed

ALL = dict(commands())
ID = "0b8a2f5e-52a4-5a3f-9b0e-3f6a6f8a2b11"
CLIENTS = {
    *("anthropic", "faststream", "granian", "graphql", "lxml", "minio", "nats", "openai", "psycopg", "sqlalchemy"),
    *("structlog", "uvloop", "contracts.v1"),
}
NUMBERS = (click.IntRange, click.FloatRange, click.types.IntParamType, click.types.FloatParamType)
UNIT = re.compile(
    r"second|\bdays\b|claims|findings|\bSEQ\b|port|tokens|from 0 to 2|0 to 100|corrections|0 is the very beginning",
    re.IGNORECASE,
)


def asked(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments, terminal_width=200)


each = pytest.mark.parametrize("path", ALL, ids=lambda path: " ".join(path) or "openerrata")


@each
@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_is_an_answer_that_says_all(path: tuple[str, ...], flag: str) -> None:
    ended = asked(*path, flag)
    assert ended.exit_code == 0, ended.output
    first = ended.output.split("\n\n")[1].strip()
    assert first, "no description"
    assert "..." not in ended.output.split("\n", 1)[1], "something is cut off"


@each
def test_every_option_and_argument_is_described(path: tuple[str, ...]) -> None:
    command = ALL[path]
    told = asked(*path, "--help").output
    for parameter in command.get_params(click.Context(command, **main.context_settings)):
        if isinstance(parameter, click.Option):
            assert parameter.help, parameter.opts
            if isinstance(parameter.type, NUMBERS) and not parameter.is_flag:
                assert UNIT.search(f"{parameter.metavar} {parameter.help}"), f"{parameter.opts}: of what?"
        else:
            name = parameter.make_metavar(click.Context(command)).strip("[].").rstrip(".]").upper()
            words = re.sub(r"^Usage:.*$", "", told, flags=re.MULTILINE)
            parents = asked(*path[:-1], "--help").output
            assert re.search(rf"\b{name}S?\b", words + parents), f"{name} is not explained"


@pytest.mark.parametrize("path", [path for path in ALL if len(path) <= 1], ids=" ".join)
def test_examples_are_shown_and_can_be_typed(
    path: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("backups").mkdir()
    shown = asked(*path, "--help").output.partition("\n\n")[2]
    examples = re.findall(r"(?:^ +|: +)openerrata ([a-z].*?)(?: {2,}| \||$)", shown, re.MULTILINE)
    assert examples, "no example"
    for example in examples:
        words = [ID if word in ("ID", "CLAIM", "APPEAL") else word for word in shlex.split(example)]
        assert words[: len(path)] == list(path)
        used = max((tuple(words[:count]) for count in (1, 2)), key=lambda start: len(start) if start in ALL else 0)
        parsed(ALL[used], words[len(used) :])


@pytest.mark.parametrize("name", ["audit", "mcp", "witness"])
def test_help_of_a_command_that_needs_no_server_waits_for_none_of_their_clients(name: str) -> None:
    program = (
        "import atexit, sys; from services.__main__ import main\n"
        f"atexit.register(lambda: print(*(set(sys.modules) & {CLIENTS!r}))); main([{name!r}, '--help'])"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert ended.stdout.splitlines()[-1] == ""


def test_up_names_every_service() -> None:
    named = re.search(r"SERVICE is one of: ([a-z ]+)\n", asked("up", "--help").output)
    assert named is not None
    assert tuple(named[1].split()) == SERVICES


@each
def test_a_wrong_option_is_one_line(path: tuple[str, ...]) -> None:
    ended = asked(*path, "--no-such-thing")
    assert ended.exit_code == 2
    assert ended.output.count("\n") == 1, ended.output
    assert "--no-such-thing" in ended.output
    assert f"openerrata {' '.join(path)}".strip() + " --help" in ended.output


def test_a_missing_choice_is_one_line() -> None:
    ended = asked("appeal", "decide", ID)
    assert (ended.exit_code, ended.output) == (
        2,
        "Error: Missing argument 'OUTCOME'. Choose from: UPHELD, PARTLY, DISMISSED, REFUSED"
        " (openerrata appeal decide --help)\n",
    )


def test_a_group_without_a_command_shows_its_help() -> None:
    ended = asked("dead")
    assert ended.exit_code == 2
    assert "requeue" in ended.output


def test_a_command_that_is_interrupted_while_it_is_loaded_says_no_more_than_that(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted(*_: object) -> click.Command:
        raise KeyboardInterrupt

    monkeypatch.setattr(main, "get_command", interrupted)
    ended = asked("doctor")
    assert (ended.exit_code, ended.output.strip()) == (130, "interrupted")
