"""The processes of a measurement: each has its own interpreter, a pipe to its parent, and dies with it.

Whatever shared a process with the load generator would be measured together with it.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any, Self

PR_SET_PDEATHSIG = 1
STOP_TIMEOUT_S = 20.0

_context = get_context("spawn")


class Child:
    """A running function `main(pipe, *arguments)`; the pipe's end is its order to stop. Start from the main thread."""

    def __init__(self, main: Callable[..., None], *arguments: Any) -> None:
        self._pipe, theirs = _context.Pipe()
        self._process = _context.Process(target=_enter, args=(os.getpid(), main, theirs, arguments), daemon=True)
        self._process.start()
        theirs.close()

    @property
    def pid(self) -> int:
        pid = self._process.pid
        assert pid is not None
        return pid

    def hear(self) -> Any:
        """The child's next message. Raises: RuntimeError: it ended instead."""
        try:
            return self._pipe.recv()
        except EOFError:
            raise RuntimeError(f"a process of this measurement ended with code {self._process.exitcode}") from None

    def ask(self, question: Any) -> Any:
        """Send a question and wait for the answer."""
        self._pipe.send(question)
        return self.hear()

    def stop(self) -> None:
        """Close the pipe and wait for the end."""
        self._pipe.close()
        self._process.join(STOP_TIMEOUT_S)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def _enter(parent: int, main: Callable[..., None], pipe: Connection, arguments: tuple[Any, ...]) -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent:  # it died before we asked
        os._exit(1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which stops us in order
    with suppress(EOFError):
        main(pipe, *arguments)


async def obey(pipe: Connection, answer: Callable[[Any], Any]) -> None:
    """Answer the parent's questions until it closes the pipe."""
    loop = asyncio.get_running_loop()
    while True:
        try:
            question = await loop.run_in_executor(None, pipe.recv)
        except EOFError:
            return
        pipe.send(answer(question))
