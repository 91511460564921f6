"""Run the nearest tests of each mutant on a copy of the tree in which that mutant alone is applied."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from importlib.util import cache_from_source
from pathlib import Path
from queue import SimpleQueue
from typing import Final

from tests.mutants.listing import ROOT, Mutant

TIMEOUT_S: Final = 240.0
TESTS_FAILED: Final = 1
"""Exit status of pytest and of vitest when a test failed; anything else says that none ran as it should."""


class Verdict(Enum):
    """What the nearest tests made of a mutant."""

    KILLED = "killed"
    SURVIVED = "survived"
    HUNG = "hung"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class Result:
    """A verdict with the last lines that the tests printed."""

    mutant: Mutant
    verdict: Verdict
    output: str

    @property
    def noticed(self) -> bool:
        """Whether a test failed; tests that could not run, or never end, notice nothing."""
        return self.verdict is Verdict.KILLED


def copy_tree(target: Path) -> None:
    """Copy what git knows or would add, and link what `make test` installed."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)
    for name in ("extension/node_modules", "extension/.output", "extension/.wxt"):
        if (ROOT / name).is_dir():
            (target / name).symlink_to(ROOT / name)


def run_tests(tree: Path, tests: Sequence[str], within_s: float = TIMEOUT_S) -> tuple[int | None, str]:
    """Exit status and the end of the output; no status if the tests do not end."""
    if tests[0].startswith("extension/"):
        files = [test.removeprefix("extension/") for test in tests]
        command, folder = ["npx", "--no-install", "vitest", "run", *files], tree / "extension"
    else:
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", *tests]
        folder = tree
    with subprocess.Popen(
        command,
        cwd=folder,
        env=os.environ | {"PYTHONPATH": f"{tree}{os.pathsep}{tree / 'client/src'}"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            output, _ = process.communicate(timeout=within_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            output, _ = process.communicate()
            return None, output[-2000:]
        except BaseException:
            os.killpg(process.pid, 9)
            raise
    return process.returncode, output[-2000:]


@contextmanager
def _applied(tree: Path, mutant: Mutant) -> Iterator[None]:
    path = tree / mutant.file
    whole = path.read_text()
    _rewrite(path, mutant.applied_to(whole))
    try:
        yield
    finally:
        _rewrite(path, whole)


def _rewrite(path: Path, text: str) -> None:
    """Replace a file and forget its bytecode, which a mutant of the same length and second would be taken for."""
    path.write_text(text)
    Path(cache_from_source(path)).unlink(missing_ok=True)


def run_mutant(tree: Path, mutant: Mutant) -> Result:
    """Apply, test, and put the file back."""
    with _applied(tree, mutant):
        status, output = run_tests(tree, mutant.tests)
    if status is None:
        return Result(mutant, Verdict.HUNG, output)
    verdict = {0: Verdict.SURVIVED, TESTS_FAILED: Verdict.KILLED}.get(status, Verdict.BROKEN)
    return Result(mutant, verdict, output)


def run_all(chosen: Sequence[Mutant], workers: int) -> Iterator[Result]:
    """Results as they come, each worker on a tree of its own."""
    with tempfile.TemporaryDirectory(prefix="openerrata-mutants-") as folder:
        trees: SimpleQueue[Path] = SimpleQueue()
        for number in range(workers):
            (tree := Path(folder) / str(number)).mkdir()
            copy_tree(tree)
            trees.put(tree)

        def one(mutant: Mutant) -> Result:
            tree = trees.get()
            try:
                return run_mutant(tree, mutant)
            finally:
                trees.put(tree)

        with ThreadPoolExecutor(workers) as pool:
            yield from pool.map(one, chosen)


def _place(test: str) -> tuple[str, int]:
    """The file of a test, and where it stands there: what tests share they change in the order they are written in."""
    file, _, name = test.partition("::")
    if not name:
        return file, 0
    return file, (ROOT / file).read_text().find(f"def {name.rpartition('::')[2].partition('[')[0]}(")


def unbroken(chosen: Sequence[Mutant]) -> str | None:
    """None if the named tests pass on the code as it is, else what they printed: a red test would notice anything."""
    with tempfile.TemporaryDirectory(prefix="openerrata-mutants-") as folder:
        copy_tree(Path(folder))
        for of_extension in (False, True):
            tests = sorted(
                {test for mutant in chosen if mutant.is_of_extension == of_extension for test in mutant.tests},
                key=_place,
            )
            if tests:
                status, output = run_tests(Path(folder), tests, TIMEOUT_S * len(chosen))
                if status != 0:
                    return output
    return None
