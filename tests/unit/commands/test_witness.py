"""A witness keeps its name for good, so what was hardly meant is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from services.__main__ import main


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("https://witness.example/w1", "the name of a witness has no scheme: witness.example/w1"),
        ("my witness", "a key's name has at least one character, no blank, no + and no control: 'my witness'"),
    ],
)
def test_an_unusable_name_is_refused_with_what_is_wrong_in_it(name: str, advice: str, tmp_path: Path) -> None:
    ended = CliRunner().invoke(main, ["witness", "init", name, "--dir", str(tmp_path / "w")])
    assert (ended.exit_code, ended.output) == (1, f"Error: {advice}\n")
    assert not (tmp_path / "w").exists()
