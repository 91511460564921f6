"""Server processes that get no processor time: their sockets stay open and nothing answers."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kit.embedded import EmbeddedStack


@contextmanager
def suspended(server: EmbeddedStack) -> Iterator[None]:
    """Suspend a stack's one server with its children; it has stopped when the block begins."""
    (pid,) = server.pids.values()
    with suspended_tree(pid):
        yield


@contextmanager
def suspended_tree(pid: int) -> Iterator[None]:
    """Suspend a process, then its children, of which it begins no more."""
    pids = [pid]
    stop_process(pid)
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        pids.append(int(child))
        stop_process(int(child))
    try:
        yield
    finally:
        for each in reversed(pids):
            os.kill(each, signal.SIGCONT)


def stop_process(pid: int) -> None:
    """Stop a process and wait until it has: a signal is obeyed a moment later, and a child that ended is no more."""
    os.kill(pid, signal.SIGSTOP)
    while any(_state(task) not in "TtZX" for task in Path(f"/proc/{pid}/task").iterdir()):
        time.sleep(0.001)


def _state(task: Path) -> str:
    return (task / "stat").read_text().rpartition(")")[2].split()[0]
