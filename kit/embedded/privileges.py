"""What a child process becomes between fork and exec: it dies with its parent, and PostgreSQL never runs as root.

The kernel sends the parent-death signal when the *thread* that forked ends, so only the main thread starts children.
Without that signal a killed parent leaves servers behind that hold the ports and the data.
"""

from __future__ import annotations

import ctypes
import os
import pwd
import signal
from collections.abc import Callable
from pathlib import Path

from kit.embedded.errors import EmbeddedError

PR_SET_PDEATHSIG = 1
PR_SET_KEEPCAPS = 8
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_RAISE = 2
CAP_DAC_READ_SEARCH = 2
CAPABILITY_VERSION_3 = 0x20080522

_libc = ctypes.CDLL(None, use_errno=True)  # loaded before any fork: the hook must not load libraries


class _CapabilityHeader(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _CapabilityData(ctypes.Structure):
    _fields_ = (("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32))


def plain_uid(owned: Path) -> int | None:
    """Whom servers run as that are not to be root: the owner of its data, `openerrata` or `nobody`; None unless root.

    Raises: EmbeddedError when no such user exists.
    """
    if os.geteuid() != 0:
        return None
    if owned.exists() and (owner := owned.stat().st_uid) != 0:
        return owner
    for name in ("openerrata", "nobody"):
        try:
            return pwd.getpwnam(name).pw_uid
        except KeyError:
            continue
    raise EmbeddedError("PostgreSQL refuses root: create a system user openerrata, or start as an ordinary user")


def hand_over(folder: Path, uid: int | None) -> None:
    """Make a folder and all in it the server's own, unless it is already or servers run as we do."""
    if uid is None:
        return
    for found in (folder, *folder.rglob("*")):
        if found.lstat().st_uid != uid:
            os.chown(found, uid, -1, follow_symlinks=False)


def _check(result: int) -> None:
    if result != 0:
        errno = ctypes.get_errno()
        raise OSError(errno, os.strerror(errno))


def _become(uid: int) -> None:
    """Leave root, but keep the right to pass folders closed to others and to read: programs may lie in a home."""
    _check(_libc.prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0))
    os.setgroups([])
    os.setgid(pwd.getpwuid(uid).pw_gid)
    os.setuid(uid)
    mask = 1 << CAP_DAC_READ_SEARCH
    data = (_CapabilityData * 2)(_CapabilityData(mask, mask, mask), _CapabilityData(0, 0, 0))
    _check(_libc.capset(ctypes.byref(_CapabilityHeader(CAPABILITY_VERSION_3, 0)), data))
    _check(_libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_DAC_READ_SEARCH, 0, 0))


def child_hook(stop_signal: signal.Signals, uid: int | None) -> Callable[[], None]:
    """What runs in the child before exec: the user first, since changing it forgets the parent-death signal."""
    parent = os.getpid()

    def hook() -> None:
        if uid is not None:
            _become(uid)
        _check(_libc.prctl(PR_SET_PDEATHSIG, int(stop_signal), 0, 0, 0))
        if os.getppid() != parent:  # it died between fork and prctl
            os._exit(1)

    return hook
