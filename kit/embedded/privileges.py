"""What happens between fork and exec: a child dies with its parent, and PostgreSQL never runs as root.

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
PR_SET_SECUREBITS = 28
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_RAISE = 2
SECBIT_NO_SETUID_FIXUP = 1 << 2
CAP_DAC_READ_SEARCH = 2
CAPABILITY_VERSION_3 = 0x20080522

_libc = ctypes.CDLL(None, use_errno=True)  # loaded before any fork: the hook must not load libraries


class _CapabilityHeader(ctypes.Structure):
    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


class _CapabilityData(ctypes.Structure):
    _fields_ = (("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32))


def plain_uid(owned: Path) -> int | None:
    """The user for servers that must not be root: the owner of the data, `openerrata` or `nobody`; None unless root.

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


def chown_tree(folder: Path, uid: int | None) -> None:
    """Change the owner of a folder and all in it to the server's user; do nothing if `uid` is None."""
    if uid is None:
        return
    for found in (folder, *folder.rglob("*")):
        if found.lstat().st_uid != uid:
            os.chown(found, uid, -1, follow_symlinks=False)


def _check(result: int) -> None:
    if result != 0:
        errno = ctypes.get_errno()
        raise OSError(errno, os.strerror(errno))


def _change_user(uid: int) -> None:
    """Change the user, but keep the capability to read everything: programs may be in a private home folder.

    Without the secure bit, access(2) would ignore the capability, and initdb asks it before it starts a program.
    """
    _check(_libc.prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, 0, 0))
    os.setgroups([])
    os.setgid(pwd.getpwuid(uid).pw_gid)
    os.setuid(uid)
    mask = 1 << CAP_DAC_READ_SEARCH
    data = (_CapabilityData * 2)(_CapabilityData(mask, mask, mask), _CapabilityData(0, 0, 0))
    _check(_libc.capset(ctypes.byref(_CapabilityHeader(CAPABILITY_VERSION_3, 0)), data))
    _check(_libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_DAC_READ_SEARCH, 0, 0))


def make_child_hook(stop_signal: signal.Signals, uid: int | None, parent: int | None = None) -> Callable[[], None]:
    """Make the function that runs in the child before exec: it changes the user first, as that clears the death signal.

    `parent` is the process that the child is to die with; by default this one.
    """
    parent = os.getpid() if parent is None else parent

    def hook() -> None:
        if uid is not None:
            _change_user(uid)
        _check(_libc.prctl(PR_SET_PDEATHSIG, int(stop_signal), 0, 0, 0))
        if os.getppid() != parent:  # it died between fork and prctl
            os._exit(1)

    return hook
