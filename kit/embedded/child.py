"""A child process that runs a server: it dies with us, and its failure quotes the last lines of its log.

A session of its own keeps Ctrl-C from the child: only we receive it, and stop the servers in order. The child holds the
lock of the data folder open, so the folder is free again only when the last child has ended.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kit.embedded.errors import EmbeddedError
from kit.embedded.files import open_private
from kit.embedded.privileges import make_child_hook

LOG_BYTES = 8_000_000
TAIL_LINES = 15


@dataclass(frozen=True, slots=True)
class Program:
    """What to run and how to end it."""

    name: str
    argv: tuple[str, ...]
    log: Path
    cwd: Path
    stop_signal: signal.Signals = signal.SIGTERM
    env: Mapping[str, str] = field(default_factory=dict)
    uid: int | None = None
    keep_open: tuple[int, ...] = ()


class Child:
    """A started program."""

    def __init__(self, program: Program) -> None:
        if threading.current_thread() is not threading.main_thread():
            raise EmbeddedError("start servers from the main thread: they die with the thread that started them")
        self.program = program
        with contextlib.suppress(FileNotFoundError):
            if program.log.stat().st_size > LOG_BYTES:
                program.log.replace(program.log.with_suffix(".log.old"))
        with open(program.log, "ab", opener=open_private) as log:
            self._log_from = log.tell()
            self._process = subprocess.Popen(  # noqa: S603  our own programs and paths
                program.argv,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=program.cwd,
                env={"PATH": os.defpath, "LANG": "C.UTF-8", **program.env},  # without secrets of ours
                start_new_session=True,
                umask=0o077,
                preexec_fn=make_child_hook(program.stop_signal, program.uid),
                pass_fds=program.keep_open,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def succeeded(self) -> bool:
        """Wait until the program ends by itself; return whether its exit code is 0."""
        return self._process.wait() == 0

    def last_lines(self) -> list[str]:
        """The last lines of the program's log, without those of earlier children."""
        with self.program.log.open("rb") as log:
            log.seek(self._log_from)
            return log.read().decode(errors="replace").splitlines()[-TAIL_LINES:]

    def failure(self) -> EmbeddedError:
        """The error of a child that ended early, with its last log lines."""
        return self._error(f"ended with code {self._process.poll()}")

    def late(self) -> EmbeddedError:
        """The error of a child that does not become ready, with its last log lines."""
        return self._error("is not ready in time")

    def _error(self, what: str) -> EmbeddedError:
        lines = "\n".join(f"  {line}" for line in self.last_lines()) or "  (it wrote nothing)"
        return EmbeddedError(f"{self.program.name} {what}; {self.program.log} ends with:\n{lines}")

    def ask_to_stop(self) -> None:
        """Send the stop signal; the caller waits."""
        if self.alive:
            self._process.send_signal(self.program.stop_signal)

    def wait_stopped(self, timeout_s: float) -> None:
        """Wait for the end; after the time limit the whole session of the child is killed."""
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """Kill the whole session of the child."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


def run_to_end(program: Program) -> None:
    """Run a program that ends by itself.

    Raises: EmbeddedError with the log's last lines when it fails.
    """
    child = Child(program)
    try:
        if not child.succeeded():
            raise child.failure()
    except BaseException:
        child.ask_to_stop()
        child.wait_stopped(5)
        raise
