"""The command `openerrata` as an operator runs it: real processes, real servers, nothing of it inside the test.

Every process asks the kernel to die with the test, so an interrupted run leaves nothing behind. What the processes say
is kept in files and shown when a test fails.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any, Protocol, Self, TypeVar
from weakref import WeakSet

import httpx
import pytest

from kit.embedded import EmbeddedStack, ServiceName, running_endpoints
from kit.embedded.privileges import make_child_hook
from kit.errors import Outage
from kit.vault import MasterKey
from tests.support.forked import Forked
from tests.support.suspended import suspended

ROOT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-m", "services")
START_WITHIN_S = 120.0
STOP_WITHIN_S = 40.0
POLL_MIN_S = 0.01
POLL_MAX_S = 0.1
"""The longest pause between two checks, which take processor time from what is waited for."""
TAIL_LINES = 25

REFUSALS = frozenset({"fact refused", "transcript refused"})
"""What a process logs when a fact is refused: data is lost, and no answer says so."""

T = TypeVar("T")

_open: WeakSet[System] = WeakSet()


class NotInTime(AssertionError):
    """A condition did not come true."""


def pause_after(waited_s: float) -> float:
    """How long to wait until the next check: a tenth of the wait so far, within bounds."""
    return min(max(POLL_MIN_S, waited_s / 10), POLL_MAX_S)


async def until(condition: Callable[[], Awaitable[T | None]], what: str, *, within_s: float = 60.0) -> T:
    """Wait for a condition; return its first true value. A server that did not answer in time is asked again.

    Raises: NotInTime: with the last value and what was waited for.
    """
    began = monotonic()
    while True:
        last: object
        try:
            if value := await condition():
                return value
            last = value
        except (TimeoutError, Outage, httpx.TransportError) as error:
            last = error
        if (waited_s := monotonic() - began) > within_s:
            raise NotInTime(f"not within {within_s:g} s: {what}; last: {last!r}")
        await asyncio.sleep(pause_after(waited_s))


@dataclass(frozen=True)
class Ended:
    """A command that ran to its end."""

    code: int
    out: str
    err: str


class Child(Protocol):
    """A process that was started from here."""

    @property
    def pid(self) -> int: ...

    def poll(self) -> int | None: ...

    def send_signal(self, sig: signal.Signals, /) -> None: ...


class Process:
    """One running `openerrata up …`."""

    def __init__(self, name: str, child: Child, log: Path) -> None:
        self.name = name
        self.log = log
        self.url = ""
        self.operations_url = ""
        self._child = child

    @property
    def pid(self) -> int:
        return self._child.pid

    @property
    def alive(self) -> bool:
        return self._child.poll() is None

    def lines(self) -> list[dict[str, Any]]:
        """What it logged as JSON lines so far; other lines are left out."""
        return _json_lines(self.log.read_text())

    def tail(self) -> str:
        """The last lines of its log."""
        return "\n".join(self.log.read_text().splitlines()[-TAIL_LINES:])

    async def started(self) -> None:
        """Wait until it is ready; the addresses are known then."""

        async def running() -> dict[str, Any] | None:
            assert self.alive, f"{self.name} ended with code {self._child.poll()}:\n{self.tail()}"
            return self._said("running")

        said = await until(running, f"{self.name} runs", within_s=START_WITHIN_S)
        self.url = said["gateway"] or ""
        self.operations_url = (self._said("operations") or {}).get("url", "")
        async with httpx.AsyncClient(base_url=self.operations_url, timeout=5, trust_env=False, verify=False) as client:

            async def ready() -> bool:
                return (await client.get("/ready")).status_code == 200

            await until(ready, f"{self.name} is ready")

    def _said(self, event: str) -> dict[str, Any] | None:
        return next((line for line in self.lines() if line.get("event") == event), None)

    def send(self, number: signal.Signals) -> None:
        """Send a signal."""
        self._child.send_signal(number)

    async def ended(self, *, within_s: float = STOP_WITHIN_S) -> int:
        """Wait for the end of the process; return its exit code."""

        async def over() -> bool:
            return not self.alive

        await until(over, f"{self.name} ends", within_s=within_s)
        code = self._child.poll()
        assert code is not None
        return code

    async def kill(self) -> None:
        """End it without any warning."""
        self.send(signal.SIGKILL)
        assert await self.ended() == -signal.SIGKILL


@dataclass
class System:
    """Processes over one data folder, or over servers whose addresses are in `settings`; `root` has their sources."""

    folder: Path
    settings: dict[str, str] = field(default_factory=dict)
    processes: dict[str, Process] = field(default_factory=dict)
    logs: list[Path] = field(default_factory=list)
    root: Path = ROOT
    _errors: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        _open.add(self)

    __hash__ = object.__hash__

    @property
    def data_dir(self) -> Path:
        """Where embedded servers keep their data."""
        return self.folder / "data"

    @property
    def url(self) -> str:
        """The address of the gateway."""
        return next(process.url for process in self.processes.values() if process.url and process.alive)

    @property
    def database_url(self) -> str:
        """The database as its superuser, for looking at what nobody is shown."""
        return self.settings.get("OPENERRATA_DATABASE_URL") or self._endpoint("database_url")

    @property
    def nats_url(self) -> str:
        """The address of the broker."""
        return self.settings.get("OPENERRATA_NATS_URL") or self._endpoint("nats_url")

    @property
    def blob_settings(self) -> dict[str, str]:
        """What tells another system to use the same blob store."""
        names = {f"OPENERRATA_S3_{name}": name for name in ("ENDPOINT", "ACCESS_KEY", "SECRET_KEY", "BUCKET")}
        return {each: self.settings.get(each) or self._endpoint(f"s3_{name.lower()}") for each, name in names.items()}

    def _endpoint(self, name: str) -> str:
        endpoints = running_endpoints(self.data_dir)
        assert endpoints is not None, "no servers run over this folder"
        return str(getattr(endpoints, name))

    def spawn(
        self, *services: str, name: str = "", port: int = 0, settings: Mapping[str, str] | None = None
    ) -> Process:
        """Start `openerrata up` without waiting for it."""
        name = name or "-".join(services) or "all"
        log = self.folder / f"{name}-{len(self.logs)}.log"
        self.logs.append(log)
        environment = self._environment({"OPENERRATA_OPS_PORT": "0", **(settings or {})})
        arguments = ("up", *services, "--port", str(port), "--data-dir", str(self.data_dir))
        process = self.processes[name] = Process(name, self._start(arguments, environment, log, log), log)
        return process

    def _start(self, arguments: Sequence[str], environment: Mapping[str, str], out: Path, err: Path) -> Child:
        if self.root == ROOT and "LD_PRELOAD" not in environment:
            return Forked(arguments, self.root, environment, out, err)
        with out.open("ab") as to, err.open("ab") as errors:
            return subprocess.Popen(
                [*COMMAND, *arguments],
                cwd=self.root,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=to,
                stderr=errors,
                preexec_fn=make_child_hook(signal.SIGKILL, None),
            )

    async def up(
        self, *services: str, name: str = "", port: int = 0, settings: Mapping[str, str] | None = None
    ) -> Process:
        """Start `openerrata up` and wait until it is ready."""
        process = self.spawn(*services, name=name, port=port, settings=settings)
        await process.started()
        return process

    async def run(self, *arguments: str, within_s: float = 60.0, **settings: str) -> Ended:
        """Run another subcommand to its end; `--data-dir` is added."""
        with TemporaryDirectory(dir=self.folder) as folder:
            out, err = Path(folder) / "out", Path(folder) / "err"
            line = (*arguments, "--data-dir", str(self.data_dir))
            process = Process(arguments[0], self._start(line, self._environment(settings), out, err), err)
            try:
                code = await process.ended(within_s=within_s)
            except NotInTime:
                process.send(signal.SIGKILL)
                raise
            said, errors = out.read_text(), err.read_text()
        self._errors.append(errors)
        return Ended(code, said, errors)

    async def begin(self, *arguments: str, **settings: str) -> asyncio.subprocess.Process:
        """Start another subcommand; whoever starts it ends it."""
        return await asyncio.create_subprocess_exec(
            *COMMAND,
            *arguments,
            "--data-dir",
            str(self.data_dir),
            cwd=self.root,
            env=self._environment(settings),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=make_child_hook(signal.SIGKILL, None),
        )

    async def stop(self) -> None:
        """Ask all processes to end, the last started first, as an operator would; those that do not are killed."""
        for process in reversed(self.processes.values()):
            if process.alive:
                process.send(signal.SIGTERM)
        try:
            for process in self.processes.values():
                await process.ended()
        finally:
            for process in self.processes.values():
                if process.alive:
                    process.send(signal.SIGKILL)

    def log_lines(self) -> list[dict[str, Any]]:
        """Everything that every process of this system ever logged as JSON."""
        return _json_lines(self.log_text())

    def log_text(self) -> str:
        """Everything that every process of this system ever wrote."""
        return "\n".join(log.read_text() for log in self.logs)

    def refused(self) -> list[dict[str, Any]]:
        """What was told and could not be shown."""
        said = [*self.log_lines(), *_json_lines("\n".join(self._errors))]
        return [line for line in said if line.get("event") in REFUSALS]

    def tails(self) -> Iterable[tuple[str, str]]:
        """For each process the end of its log."""
        return [(name, process.tail()) for name, process in self.processes.items()]

    def _environment(self, more: Mapping[str, str]) -> dict[str, str]:
        ours = {name: value for name, value in os.environ.items() if not name.startswith(("OPENERRATA_", "OPENAI_"))}
        return {**ours, **self.settings, **more}


def _json_lines(text: str) -> list[dict[str, Any]]:
    """The lines of a log; one that a kill cut short is none."""
    return [json.loads(line) for line in text.splitlines() if line.startswith("{") and line.endswith("}")]


@asynccontextmanager
async def system(folder: Path, refuses: bool = False, root: Path = ROOT, /, **settings: str) -> AsyncIterator[System]:
    """A system without processes yet; whatever runs at the end is stopped.

    `refuses`: what is told here is meant to be refused by the projector, which is an error anywhere else.
    """
    found = System(folder, settings, root=root)
    try:
        yield found
    finally:
        await found.stop()
        _open.discard(found)
    assert refuses or not found.refused(), found.refused()


class GivenServers:
    """Servers that the test runs itself, so that each can be killed and come back at its old address."""

    def __init__(self, folder: Path) -> None:
        names: tuple[ServiceName, ...] = ("nats", "postgres", "s3")
        self._stacks: Mapping[ServiceName, EmbeddedStack] = {
            name: EmbeddedStack(folder / name, services=(name,)) for name in names
        }
        self._master_key = str(MasterKey.generate())

    @property
    def settings(self) -> dict[str, str]:
        """What tells a process where these servers are."""
        nats, s3 = self._stacks["nats"].endpoints, self._stacks["s3"].endpoints
        return {
            "OPENERRATA_NATS_URL": nats.nats_url,
            "OPENERRATA_NATS_MONITOR_URL": nats.nats_monitor_url,
            "OPENERRATA_DATABASE_URL": self._stacks["postgres"].endpoints.database_url,
            "OPENERRATA_S3_ENDPOINT": s3.s3_endpoint,
            "OPENERRATA_S3_ACCESS_KEY": s3.s3_access_key,
            "OPENERRATA_S3_SECRET_KEY": s3.s3_secret_key,
            "OPENERRATA_S3_BUCKET": s3.s3_bucket,
            "OPENERRATA_ENCRYPTION_KEYS": self._master_key,
            "OPENERRATA_GATEWAY_PUBLIC_URL": "https://errata.example",
        }

    def kill(self, name: ServiceName) -> None:
        """End a server without any warning."""
        for pid in self._stacks[name].pids.values():
            os.kill(pid, signal.SIGKILL)
        self._stacks[name].stop()

    def suspended(self, name: ServiceName) -> AbstractContextManager[None]:
        """Have a server answer nobody for as long as the context lasts."""
        return suspended(self._stacks[name])

    def start(self, name: ServiceName) -> None:
        """Start a killed server over the data it left, at its old address."""
        assert self._stacks[name].start() == self._addresses[name], (
            "a process that was told the address could not follow"
        )

    def __enter__(self) -> Self:
        try:
            self._addresses = {name: stack.start() for name, stack in self._stacks.items()}
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for stack in self._stacks.values():
            stack.stop()


def show_logs(report: pytest.TestReport) -> None:
    """Add the ends of all logs to the report of a failed test; called by the conftest of the folder."""
    if report.failed:
        for found in _open:
            report.sections += [(f"log of {name}", tail) for name, tail in found.tails()]
