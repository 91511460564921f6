"""One process owns a data folder, by a lock of the kernel that lasts while any process holds it open.

The servers hold it open too. So after its owner was killed, the folder is free only when its servers have ended, and
the next start waits for them instead of finding their ports and pid files.
"""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

from kit.embedded.errors import DataDirInUse

LEFTOVERS_TIMEOUT_S = 20.0
POLL_S = 0.02


def _is_running(pid: int) -> bool:
    """Whether a process exists and is not a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False


def _find_holder(fd: int) -> int | None:
    written = os.pread(fd, 20, 0)
    return int(written) if written.isdigit() and _is_running(int(written)) else None


class DataDirLock:
    """The lock of a data folder, held by this process; children inherit `fd`.

    Raises: DataDirInUse when a live process holds it.
    """

    def __init__(self, data_dir: Path) -> None:
        self.fd = os.open(data_dir / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        deadline = time.monotonic() + LEFTOVERS_TIMEOUT_S
        while True:
            try:
                fcntl.flock(self.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                holder = _find_holder(self.fd)
                if holder is not None or time.monotonic() > deadline:
                    os.close(self.fd)
                    raise DataDirInUse(data_dir, holder) from None
                time.sleep(POLL_S)  # start() blocks by design; the old owner is ending
        os.ftruncate(self.fd, 0)
        os.pwrite(self.fd, str(os.getpid()).encode(), 0)

    def release(self) -> None:
        """Release the lock; the file stays, since removing it would let two processes lock two files.

        A server that is still ending holds it a moment longer; the file names no process then, so the next start waits.
        """
        os.ftruncate(self.fd, 0)
        os.close(self.fd)


def holder_of(data_dir: Path) -> int | None:
    """The live process that holds a data folder, if any."""
    try:
        fd = os.open(data_dir / "lock", os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _find_holder(fd)
    finally:
        os.close(fd)
    return None
