"""Files of a data folder are private and written atomically.

A crash in the middle of a write would otherwise leave a folder that no server can start from.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import tempfile
from pathlib import Path

from kit.embedded.errors import EmbeddedError

SOCKET_PATH_BYTES = 107  # sun_path without its end mark
LONGEST_SOCKET_NAME = ".s.PGSQL.5432"
UNQUOTED = re.compile(rb"[\w/.-]+")  # PostgreSQL splits lists of folders at commas, and trims and unquotes the parts


def write_private(path: Path, text: str) -> None:
    """Replace a file atomically, readable by its owner only."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    with contextlib.suppress(FileNotFoundError):
        fresh.unlink()
    with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    fresh.replace(path)


def open_private(path: str, flags: int) -> int:
    """The opener of a log file: makes it readable by its owner only, even if an earlier version did not."""
    fd = os.open(path, flags, 0o600)
    os.fchmod(fd, 0o600)
    return fd


def socket_dir(data_dir: Path, uid: int | None) -> Path:
    """Make a private folder for Unix sockets: in the data folder if its path is short and plain, else a temporary one.

    Raises: EmbeddedError when the folder exists already and is not ours.
    """
    folder = data_dir / "run"
    path = os.fsencode(folder / LONGEST_SOCKET_NAME)
    if len(path) > SOCKET_PATH_BYTES or not UNQUOTED.fullmatch(path):
        digest = hashlib.sha256(os.fsencode(data_dir)).hexdigest()[:16]
        folder = Path(tempfile.gettempdir()) / f"openerrata-{os.geteuid()}-{digest}"
    folder.mkdir(mode=0o700, exist_ok=True)
    owner = folder.lstat().st_uid
    if folder.is_symlink() or owner not in (os.geteuid(), uid):
        raise EmbeddedError(f"{folder} belongs to user {owner}, not to us; remove it, or choose a shorter data folder")
    folder.chmod(0o700)
    if uid is not None:
        os.chown(folder, uid, -1)
    return folder
