"""The declared mutants fit the code of today: each can be applied, and the tests that should notice it exist."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.mutants.listing import Mutant, UnusableMutant, check, mutants
from tests.mutants.run import run_tests


@pytest.mark.parametrize("mutant", tuple(mutants()), ids=str)
def test_can_be_applied(mutant: Mutant) -> None:
    """Its text stands exactly once in its file, and its tests exist."""
    check(mutant)


MUTANT = Mutant("a", "n", "code.py", "x = 1", "x = 2", ("test_code.py::test_x",))


@pytest.mark.parametrize(
    "changed",
    [
        {"file": "gone.py"},
        {"find": "y = 1"},
        {"find": "x"},
        {"replace": "x = 1"},
        {"tests": ("gone.py",)},
        {"tests": ("test_code.py::test_y",)},
    ],
    ids=lambda changed: "-".join(changed),
)
def test_refuses_what_fits_no_more(tmp_path: Path, changed: dict[str, Any]) -> None:
    """A list that no longer fits the code is an error, not a survivor or a kill."""
    (tmp_path / "code.py").write_text("x = 1\nprint(x)\n")
    (tmp_path / "test_code.py").write_text("def test_x() -> None: ...\n")
    check(MUTANT, tmp_path)
    with pytest.raises(UnusableMutant):
        check(replace(MUTANT, **changed), tmp_path)


@pytest.mark.parametrize("package", ["kit", "client/src/openerrata_client"])
def test_what_is_tested_is_the_copy(tmp_path: Path, package: str) -> None:
    """Otherwise a mutant of a package that is installed would be the code itself."""
    (tmp_path / package).mkdir(parents=True)
    (tmp_path / package / "__init__.py").touch()
    name = Path(package).name
    (tmp_path / "test_code.py").write_text(
        f"from pathlib import Path\nimport {name}\n\ndef test_place():\n"
        f"    assert Path({name}.__file__).is_relative_to({str(tmp_path)!r})\n"
    )
    status, output = run_tests(tmp_path, ["test_code.py"])
    assert status == 0, output
