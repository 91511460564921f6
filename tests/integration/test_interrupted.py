"""Ctrl-C ends every command soon, quietly and whole, whatever it waits for at that moment."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import click
import psutil
import pytest

from kit import topology
from kit.bus import connect
from kit.database import migrate, open_session
from kit.vault import MasterKey
from tests.support.command_line import leaves
from tests.support.forked import Forked
from tests.support.system import GivenServers, Process, until
from tlog.keys import Algorithm, SigningKey

WITHIN_S = 60.0
ARGUMENTS = {
    "FILE": "verdicts.csv",  # of a reviewer, which is there
    "SCOPE": "ALL",
    "OUTCOME": "DISMISSED",
    "APPEAL": "0b8a2f5e-52a4-5a3f-9b0e-3f6a6f8a2b11",
    "VARIANT": "5a1c9e02",
    "BATCH": "0b8a2f5e-52a4-5a3f-9b0e-3f6a6f8a2b11",
    "FOLDER": "folder",  # of a backup, which is there for whoever restores one
    "CLAIM": "0b8a2f5e-52a4-5a3f-9b0e-3f6a6f8a2b11",
    "ID": "0b8a2f5e-52a4-5a3f-9b0e-3f6a6f8a2b11",
    "NAME": "somebody",
    "NAME_OR_KEY": "somebody",
    "ROLE": "reader",
    "TIER": "free",
    "USD": "2.50",
    "NUMBER": "1",
    "SEQUENCE": "1",
    "ACCOUNT": "0b8a2f5e-52a4-5a3f-9b0e-3f6a6f8a2b11",
    "ASSERTION": "0b8a2f5e-52a4-5a3f-9b0e-3f6a6f8a2b11",
    "JOB": "0b8a2f5e-52a4-5a3f-9b0e-3f6a6f8a2b11",
    "STAGE": "stage1",
    "DOMAIN": "example.org",
    "PROVIDER": "openai",
    "MODEL": "gpt-5.4",
    "TEXT": "The sky is blue.",
    "ARTICLE": "https://news.example/article",
    "VKEY": "log.example+00000000+AA==",
    "ORIGIN": "log.example",
    "URL": "https://log.example",
    "CONSUMER": "validator-claim-proposed",
    "URL_OR_ID": "0b8a2f5e-52a4-5a3f-9b0e-3f6a6f8a2b11",
}
"""What every argument may be that a command cannot do without."""
MORE = {("up",): ("--port", "0"), ("dead", "requeue"): ("1",), ("dead", "drop"): ("1",), ("replay",): ("--shadow",)}
SHEET = f"claim,verdict\n{ARGUMENTS['ID']},RIGHT\n"
EMPTY_BACKUP = (
    '{"version": "0", "data": "data", "files": {}, "tables": {}, "streams": {}, "blobs": 0, "taken_at": "now"}'
)
WITNESS = {("witness", "init"), ("witness", "add"), ("witness", "serve")}
LOG = {("log", "key"), ("log", "verify"), ("log", "monitor")}
ALONE = {("topology", "show"), ("keys", "master"), ("labels", "describe"), ("mcp",), *LOG, *WITNESS}
"""They ask no server of ours and end by themselves; how a witness is stopped is shown in test_witness.py."""
MEANT_TO_BE_STOPPED = {("up",), ("demo",), ("tail",), ("streams",)}
"""Ctrl-C is how these end, so it is no failure."""


def words(path: tuple[str, ...], command: click.Command) -> list[str]:
    """The shortest line that starts the command."""
    found = [*path, *MORE.get(path, ())]
    for parameter in command.params:
        if parameter.required and isinstance(parameter, click.Argument):
            found.append(ARGUMENTS[parameter.make_metavar(click.Context(command))])
        elif parameter.required:
            found += [parameter.opts[0], _value(parameter)]
    return found


def _value(parameter: click.Parameter) -> str:
    match parameter.type:
        case click.Choice(choices=choices):
            return str(choices[0])
        case click.DateTime():
            return "2026-01-01"
        case click.types.IntParamType():
            return "1"
        case _:
            return "word"


LINES = {" ".join(path): (path, words(path, command)) for path, command in leaves()}


@dataclass
class Silence:
    """A server that lets everybody in and never says a word."""

    port: int = 0
    heard: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def settings(self) -> dict[str, str]:
        """What makes it every server of an instance."""
        at = f"127.0.0.1:{self.port}"
        return {
            "OPENERRATA_NATS_URL": f"nats://{at}",
            "OPENERRATA_NATS_MONITOR_URL": f"http://{at}",
            "OPENERRATA_DATABASE_URL": f"postgresql://u:p@{at}/n",
            "OPENERRATA_S3_ENDPOINT": f"http://{at}",
            "OPENERRATA_SERVER": f"http://{at}",
            "OPENERRATA_S3_ACCESS_KEY": "a",
            "OPENERRATA_S3_SECRET_KEY": "a",
            "OPENERRATA_ENCRYPTION_KEYS": str(MasterKey.generate()),
            "OPENERRATA_MODEL": "demo",
            "OPENERRATA_NOTARY_KEY": SigningKey("log.example", Algorithm.ED25519, bytes(32)).secret(),
        }


@asynccontextmanager
async def silence() -> AsyncIterator[Silence]:
    found = Silence()

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        found.heard.set()
        try:
            while await reader.read(65_536):
                pass
        except ConnectionError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(listen, "127.0.0.1", 0)
    found.port = server.sockets[0].getsockname()[1]
    try:
        yield found
    finally:
        server.close()


@dataclass
class Command:
    """A command as it runs, and what it says."""

    process: Process

    async def interrupted(self) -> tuple[int, str]:
        """Ctrl-C, once; its exit status and all its words. Nothing that it started outlives it."""
        family = psutil.Process(self.process.pid).children(recursive=True)
        self.process.send(signal.SIGINT)
        code = await self.process.ended(within_s=WITHIN_S)
        assert psutil.wait_procs(family, timeout=WITHIN_S)[1] == []
        return code, self.said()

    def said(self) -> str:
        """All its words so far."""
        return self.process.log.read_text()


@asynccontextmanager
async def running(folder: Path, line: list[str], **settings: str) -> AsyncIterator[Command]:
    if line[0] == "restore":
        (folder / "folder" / "blobs").mkdir(parents=True)
        (folder / "folder" / "manifest.json").write_text(EMPTY_BACKUP)
    (folder / ARGUMENTS["FILE"]).write_text(SHEET)
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("OPENERRATA_", "OPENAI_"))}
    log = folder / "log"
    environment = {**ours, "OPENERRATA_DATA_DIR": str(folder / "data"), **settings}
    process = Process(line[0], Forked(line, folder, environment, log, log), log)
    try:
        yield Command(process)
    finally:
        if process.alive:
            await process.kill()


def expected(path: tuple[str, ...]) -> set[int]:
    return {130, 0} if path in MEANT_TO_BE_STOPPED else {130}


@pytest.mark.parametrize("name", [name for name, (path, _) in LINES.items() if path not in ALONE | {("demo",)}])
async def test_while_a_server_is_silent(name: str, tmp_path: Path) -> None:
    path, line = LINES[name]
    async with silence() as server, running(tmp_path, line, **server.settings) as command:
        ending = asyncio.ensure_future(command.process.ended(within_s=60))
        async with asyncio.timeout(60):
            await asyncio.wait(
                {ending, hearing := asyncio.ensure_future(server.heard.wait())}, return_when=asyncio.FIRST_COMPLETED
            )
        hearing.cancel()
        assert not ending.done(), command.said()
        code, said = await command.interrupted()
        await ending
    assert "Traceback" not in said, said
    assert code in expected(path), said


LONG = ("backup", "export", "ledger verify", "projector rebuild", "replay", "restore", "up")
"""What may look into tables for minutes."""
LOCKED = """SELECT string_agg(format('%I.%I', schemaname, tablename), ', ') FROM pg_tables
    WHERE schemaname IN ('readmodel', 'ledger', 'operator') AND tablename <> 'alembic_version'"""
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND wait_event = 'relation'"


@pytest.fixture(scope="module")
def given(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    with GivenServers(tmp_path_factory.mktemp("given")) as servers:
        yield servers.settings | {"OPENERRATA_MODEL": "demo"}


@pytest.mark.xdist_group("interrupted")
@pytest.mark.parametrize("name", LONG)
async def test_in_the_middle_of_a_question_to_the_database(name: str, given: dict[str, str], tmp_path: Path) -> None:
    """Somebody holds every table, so whoever looks into one waits."""
    path, line = LINES[name]
    await migrate(given["OPENERRATA_DATABASE_URL"])
    async with connect(given["OPENERRATA_NATS_URL"], name="test") as bus:
        await topology.apply(bus)
    async with (
        await open_session(given["OPENERRATA_DATABASE_URL"]) as holder,
        await open_session(given["OPENERRATA_DATABASE_URL"]) as looking,
        holder.transaction(),
    ):
        (tables,) = await (await holder.execute(LOCKED)).fetchone() or ("",)
        await holder.execute(f"LOCK TABLE {tables} IN ACCESS EXCLUSIVE MODE".encode())
        async with running(tmp_path, line, **given) as command:

            async def waits() -> bool:
                assert command.process.alive, command.said()
                row = await (await looking.execute(WAITING)).fetchone()
                return row is not None and row[0] > 0

            await until(waits, "it asks the database", within_s=60)
            code, said = await command.interrupted()
    assert "Traceback" not in said, said
    assert code in expected(path), said


@pytest.mark.parametrize(("name", "sign", "codes"), [("up", '"event":"running"', {0}), ("demo", "reading", {130})])
async def test_with_servers_of_its_own(name: str, sign: str, codes: set[int], tmp_path: Path) -> None:
    async with running(tmp_path, [name, "--port", "0"], OPENERRATA_DEMO_PACE_S="1") as command:

        async def begun() -> bool:
            assert command.process.alive, command.said()
            return sign in command.said()

        await until(begun, "it works", within_s=120)
        code, said = await command.interrupted()
    assert (code in codes, "Traceback" in said) == (True, False), said
