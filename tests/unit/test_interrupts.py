"""Whoever starts the tests may ignore SIGINT, as `nohup` does; what tests start can be interrupted all the same."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PRINT_DISPOSITION = "import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"


def ignore_sigint() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def test_a_process_that_a_test_starts_can_be_interrupted() -> None:
    done = subprocess.run([sys.executable, "-c", PRINT_DISPOSITION], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


def test_so_it_can_when_the_tests_were_started_with_sigint_ignored() -> None:
    one = f"{Path(__file__).relative_to(ROOT)}::{test_a_process_that_a_test_starts_can_be_interrupted.__name__}"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", one],
        cwd=ROOT,
        preexec_fn=ignore_sigint,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
