"""A breaker leaves its state only by a cause that somebody has written."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from services.__main__ import main

SAYS: dict[str, str] = {"--cause": "A page was empty.", "--by": "A. Operator"}


@pytest.mark.requirement("TR-45")
@pytest.mark.parametrize("name", ["half-open", "close"])
@pytest.mark.parametrize("option", ["--cause", "--by"])
@pytest.mark.parametrize("written", [None, "", " \n", "x" * 501, "a bell\x07"])
def test_nothing_is_asked_without_a_written_cause_and_its_author(
    name: str, option: str, written: str | None, tmp_path: Path
) -> None:
    """TR-45: Each trigger opens the breaker of its scope, and only a written cause and a clean trial close it."""
    report = tmp_path / "gate.txt"
    report.touch()
    given = {**SAYS, **({"--report": str(report)} if name == "close" else {}), option: written}
    words = [word for key, value in given.items() if value is not None for word in (key, value)]
    done = CliRunner().invoke(main, ["breaker", name, "ALL", *words, "--data-dir", str(tmp_path / "none")])
    assert done.exit_code == 2, done.output
    assert f"'{option}'" in done.output
