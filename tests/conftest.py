"""Fixtures and options for all tests. What tests share as code lies in tests.support and is imported by name."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import sys
from collections.abc import Generator
from pathlib import Path

import psutil
import pytest
import structlog
from hypothesis import settings

from kit import bus as kit_bus

pytest.register_assert_rewrite("tests.support.delivering", "tests.support.site_client")
pytest_plugins = ["tests.support.servers"]

settings.register_profile("dev", deadline=None, print_blob=True)
settings.register_profile("ci", settings.get_profile("dev"), max_examples=200, derandomize=False)
settings.load_profile("ci" if os.environ.get("CI") else "dev")

os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # where our own Node lies
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # As nohup and background jobs leave it. Programs inherit that, and then none that a test starts ends by Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A machine that runs three brokers, a database for each test and browsers stalls for seconds at times.
kit_bus.API_TIMEOUT_S = 30.0

# By itself it draws each error with the variables of every frame where a package for that happens to be installed: that
# takes 0.1 s and more. As text a traceback says what a failed test needs.
structlog.dev.ConsoleRenderer.get_active().exception_formatter = structlog.dev.plain_traceback

LONG = 80
MEMORY = Path("/dev/shm")
FILES_BYTES = 6 << 30
WORKER_BYTES = 3 << 29
"""What the files of a whole run take at most, and what a worker takes with all that it starts; both are generous."""


def is_roomy(folder: Path) -> bool:
    """Whether the files of a whole run have room there, in memory, and programs among them start."""
    if not folder.is_dir() or not os.access(folder, os.W_OK) or os.statvfs(folder).f_flag & os.ST_NOEXEC:
        return False
    workers = 2 + (os.cpu_count() or 2)
    needed = FILES_BYTES + workers * WORKER_BYTES
    return shutil.disk_usage(folder).free >= FILES_BYTES and psutil.virtual_memory().available >= needed


if is_roomy(MEMORY):
    # A thousand tests have a database of their own, of 700 files, which takes a disk twenty times as long.
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is collected stays to the end, so garbage is not looked for in it, neither now nor during the tests."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """A case with a long text is named by its length: names go through every report, some of them megabytes long."""
    if isinstance(val, str | bytes) and len(val) > LONG:
        return f"{argname}-of-{len(val)}"
    return None


def pytest_report_header() -> str:
    """Name the profile; a failing example prints how to repeat it."""
    return f"hypothesis profile: {settings.get_current_profile_name()}"
