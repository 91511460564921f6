"""Starts `openerrata` by forking a process that has imported it already, which saves two seconds of CPU each time.

What runs is a process like any other, with its own environment, folder and output, and any signal ends it. That the
command starts by itself is shown by the tests of `test_starting`, `test_interrupted` and the demo.
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
import signal
from collections.abc import Mapping, Sequence
from multiprocessing import forkserver
from pathlib import Path
from typing import Final

from kit.embedded.privileges import make_child_hook
from kit.vault import MasterKey
from services.__main__ import main

_FORKS: Final = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload([__name__, "tests.support.preloaded"])


def without_blobs(nats_url: str, database_url: str) -> dict[str, str]:
    """The environment of a command that needs these two servers alone."""
    return {
        "OPENERRATA_DATABASE_URL": database_url,
        "OPENERRATA_NATS_URL": nats_url,
        "OPENERRATA_S3_ENDPOINT": "http://127.0.0.1:9",
        "OPENERRATA_S3_ACCESS_KEY": "none",
        "OPENERRATA_S3_SECRET_KEY": "none",
        "OPENERRATA_ENCRYPTION_KEYS": str(MasterKey.generate()),
    }


class Forked:
    """A process that runs the command; it dies with the test."""

    def __init__(
        self, arguments: Sequence[str], folder: Path, environment: Mapping[str, str], out: Path, err: Path
    ) -> None:
        """`out` and `err` are appended to; they may be the same."""
        self._process = _FORKS.Process(target=_run, args=(arguments, folder, dict(environment), out, err), daemon=True)
        for path in (out, err):
            path.touch()
        self._process.start()

    @property
    def pid(self) -> int:
        """The process id."""
        assert self._process.pid is not None
        return self._process.pid

    def poll(self) -> int | None:
        """Its exit code if it has ended; minus the number of the signal that ended it."""
        return self._process.exitcode

    def wait(self, within_s: float) -> int:
        """Its exit code once it has ended. Raises: TimeoutError."""
        self._process.join(within_s)
        if self._process.exitcode is None:
            raise TimeoutError
        return self._process.exitcode

    def send_signal(self, number: signal.Signals) -> None:
        """Send a signal if it still runs."""
        if self.poll() is None:
            os.kill(self.pid, number)


def _run(arguments: Sequence[str], folder: Path, environment: Mapping[str, str], out: Path, err: Path) -> None:
    # The server that forks ends with the test unless somebody else holds this; then all that it forked end with it.
    os.close(vars(forkserver)["_forkserver"]._forkserver_alive_fd)
    make_child_hook(signal.SIGKILL, None, parent=os.getppid())()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for number, path in ((1, out), (2, err)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644), number)
    try:
        main(arguments)
    finally:
        atexit._run_exitfuncs()  # which a forked process leaves out
