"""The declared mutants: one TOML file an area beside this module, one table a mutant.

Shapes: `find` is source text that stands exactly once in `file`; `tests` are pytest node ids, or test files of the
extension. A list that no longer fits the code is refused, so that no mutant is silently the code itself.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
FIELDS: Final = {"name", "file", "find", "replace", "tests"}


class UnusableMutant(ValueError):
    """A declared mutant that cannot be applied or run."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One way to break a behaviour, and the tests of which at least one must then fail."""

    area: str
    name: str
    file: str
    find: str
    replace: str
    tests: tuple[str, ...]

    def applied_to(self, text: str) -> str:
        """The text of `file`, broken.

        Raises: UnusableMutant: what is to be replaced does not stand there exactly once, or nothing would change.
        """
        if (places := text.count(self.find)) != 1:
            raise UnusableMutant(f"{self}: `find` stands {places} times in {self.file}, not once")
        if self.find == self.replace:
            raise UnusableMutant(f"{self}: `replace` changes nothing")
        return text.replace(self.find, self.replace)

    @property
    def is_of_extension(self) -> bool:
        """Whether the extension's own test runner has to look for it."""
        return self.tests[0].startswith("extension/")

    def __str__(self) -> str:
        return f"{self.area}: {self.name}"


def mutants(folder: Path = Path(__file__).parent) -> Iterator[Mutant]:
    """All declared mutants, by area.

    Raises: UnusableMutant.
    """
    names: set[str] = set()
    for path in sorted(folder.glob("*.toml")):
        for table in tomllib.loads(path.read_text()).get("mutant", []):
            if set(table) != FIELDS or not table["tests"]:
                raise UnusableMutant(f"{path.name}: a mutant has exactly {', '.join(sorted(FIELDS))}: {table}")
            mutant = Mutant(path.stem, **table | {"tests": tuple(table["tests"])})
            if str(mutant) in names:
                raise UnusableMutant(f"{mutant}: declared twice")
            names.add(str(mutant))
            yield mutant


def check(mutant: Mutant, root: Path = ROOT) -> None:
    """See that a mutant can be applied and its tests exist.

    Raises: UnusableMutant.
    """
    source = root / mutant.file
    if not source.is_file():
        raise UnusableMutant(f"{mutant}: there is no {mutant.file}")
    mutant.applied_to(source.read_text())
    for test in mutant.tests:
        path, _, name = test.partition("::")
        if not (root / path).is_file():
            raise UnusableMutant(f"{mutant}: there is no {path}")
        function = name.partition("[")[0].rpartition("::")[2] if name else ""
        if function and f"def {function}(" not in (root / path).read_text():
            raise UnusableMutant(f"{mutant}: {path} has no {function}")
        if test.startswith("extension/") != mutant.is_of_extension:
            raise UnusableMutant(f"{mutant}: its tests are of two runners")
