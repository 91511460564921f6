"""What is installed is what was locked: every requirement by its hashes, and nothing beside them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT

LOCKS = sorted((ROOT / "requirements").glob("*.txt"))
PINNED = re.compile(r"[A-Za-z0-9._-]+==\S+( ;.*?)?( --hash=sha256:[0-9a-f]{64})+")
OURSELVES = "--no-deps --no-build-isolation --editable . --editable ./client"


def joined(text: str) -> list[str]:
    """Lines as pip and make read them: without comments, continued ones as one, blanks as one."""
    whole = re.sub(r"\\\n", " ", text)
    return [" ".join(line.split()) for line in whole.splitlines() if line.strip() and not line.lstrip().startswith("#")]


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_every_requirement_is_pinned_with_hashes(lock: Path) -> None:
    requirements = joined(lock.read_text())
    assert requirements
    assert [each for each in requirements if not PINNED.fullmatch(each)] == []


def test_make_and_the_image_install_what_is_locked_and_ourselves() -> None:
    lines = joined((ROOT / "Makefile").read_text())
    assert "pip install --no-deps --require-hashes -r requirements/run.txt" in (ROOT / "deploy/Dockerfile").read_text()
    installs = [line for line in lines if re.match(r"@?\$\((PIP|INSTALL)\)", line)]
    locked = {line.rpartition("/")[2] for line in installs if "--no-deps --require-hashes -r requirements/" in line}
    assert {"run.txt", *locked} == {lock.name for lock in LOCKS}
    assert [line for line in installs if "--require-hashes" not in line and not line.endswith(OURSELVES)] == []
